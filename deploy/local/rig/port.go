package rig

import (
	"fmt"
	"net"
)

// FreePort is one that nobody listens on right now: for a child that reads it from its
// environment, so that it can be known before the child is up.
func FreePort() (string, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return "", err
	}
	return ports[0], nil
}

// FreePorts are so many of them, all different: who asks twice may be given the same one twice.
func FreePorts(n int) (ports []string, err error) {
	for range n {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
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
