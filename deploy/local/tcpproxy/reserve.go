package tcpproxy

import (
	"fmt"
	"net"
	"syscall"
)

// reserve keeps an IPv4 address on which nothing listens from being given to
// somebody else, until release: by a socket that is bound and does not listen.
// Connections to it are refused.
func reserve(addr string) (release func(), err error) {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("reserve %s: %w", addr, err)
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve %s: make socket: %w", addr, err)
	}
	syscall.CloseOnExec(socket)
	release = func() { _ = syscall.Close(socket) }
	// Connections that are ending have the address, too.
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		release()
		return nil, fmt.Errorf("reserve %s: %w", addr, err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}); err != nil {
		release()
		return nil, fmt.Errorf("reserve %s: %w", addr, err)
	}
	return release, nil
}
