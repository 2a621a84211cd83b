package rig

import (
	"errors"
	"fmt"
	"net"
)

// FreePort is one that nobody listens on right now: for a child that reads it from its
// environment, so that it can be known before the child is up.
func FreePort() (string, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find free port: %w", err)
	}
	_, port, err := net.SplitHostPort(lis.Addr().String())
	return port, errors.Join(err, lis.Close())
}
