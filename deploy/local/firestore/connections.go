package firestore

import (
	"net"
	"sync"
)

// connections knows the open connections by the client's address, so that one can
// be cut under the streams that run on it.
type connections struct {
	mu   sync.Mutex
	open map[string]net.Conn
}

func newConnections() *connections { return &connections{open: map[string]net.Conn{}} }

// track wraps a listener so that its connections are known.
func (f *Faults) track(lis net.Listener) net.Listener { return trackedListener{lis, f.conns} }

type trackedListener struct {
	net.Listener
	conns *connections
}

func (l trackedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	l.conns.open[c.RemoteAddr().String()] = c
	return trackedConn{c, l.conns}, nil
}

type trackedConn struct {
	net.Conn
	conns *connections
}

func (c trackedConn) Close() error {
	c.conns.mu.Lock()
	delete(c.conns.open, c.RemoteAddr().String())
	c.conns.mu.Unlock()
	return c.Conn.Close()
}

// cut resets the connection from an address: the client sees it break.
func (cs *connections) cut(address string) {
	cs.mu.Lock()
	c := cs.open[address]
	cs.mu.Unlock()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset rather than an orderly end
	}
	if c != nil {
		_ = c.Close()
	}
}
