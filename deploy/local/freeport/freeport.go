// Package freeport picks loopback ports for children that are told their port when they
// are started: Google's emulators, and programs that read it from their environment.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are picked below those that systems give to who asks for any: 32768 and up on
// Linux, 49152 and up elsewhere. A child may need seconds to bind its port; nobody who
// asks for any is given it meanwhile, and who picks at random beside us seldom picks the same.
const (
	lowest = 20_000
	beyond = 32_768
	tries  = 1000 // of ports, for one
)

// One is a port that nobody listens on right now.
func One() (string, error) {
	ports, err := Several(1)
	if err != nil {
		return "", err
	}
	return ports[0], nil
}

// Several are n of them, all different.
func Several(n int) (ports []string, err error) {
	for range n {
		lis, err := anyListener()
		if err != nil {
			return nil, fmt.Errorf("find free port: %w", err)
		}
		defer lis.Close() //nolint:errcheck // nobody was served
		_, port, err := net.SplitHostPort(lis.Addr().String())
		if err != nil {
			return nil, fmt.Errorf("find free port: %w", err)
		}
		ports = append(ports, port)
	}
	return ports, nil
}

func anyListener() (lis net.Listener, err error) {
	for range tries {
		port := strconv.Itoa(lowest + rand.IntN(beyond-lowest))
		if lis, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			return lis, nil
		}
	}
	return nil, err
}
