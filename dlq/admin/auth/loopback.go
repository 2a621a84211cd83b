package auth

import (
	"fmt"
	"net"
	"net/http"
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

// AskedAtLoopback reports whether a request says that it goes to this machine itself, by
// localhost or a loopback address. A page in somebody's browser may have its own name
// resolve to 127.0.0.1; the browser then says that name.
func AskedAtLoopback(r *http.Request) bool {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return loopbackHost(host)
	}
	return loopbackHost(r.Host)
}
