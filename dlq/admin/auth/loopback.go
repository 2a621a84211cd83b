package auth

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// CheckLoopback refuses an address (HOST:PORT) that others than this machine may
// reach. A name other than localhost is refused too: nobody knows what it
// resolves to tomorrow.
func CheckLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("read address %q: %w", addr, err)
	}
	if !loopbackHost(host) {
		return fmt.Errorf("address %q is not loopback: listen on 127.0.0.1", addr)
	}
	return nil
}

// loopbackHost reports whether host, without a port, can only be this machine.
func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// loopbackAuthority is loopbackHost for what a Host header says, which may name
// a port.
func loopbackAuthority(authority string) bool {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return loopbackHost(host)
	}
	return loopbackHost(authority)
}
