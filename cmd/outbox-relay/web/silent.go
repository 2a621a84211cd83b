package web

import (
	"net"
	"net/http"
	"sync"
)

// silent are the connections on which nothing was asked yet. Browsers open some
// ahead of need, and a server that shuts down would wait for each for seconds.
type silent struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// cutAtShutdown makes a server close its silent connections as it shuts down.
func cutAtShutdown(srv *http.Server) {
	s := &silent{conns: make(map[net.Conn]struct{})}
	srv.ConnState = s.note
	srv.RegisterOnShutdown(s.close)
}

func (s *silent) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.conns[c] = struct{}{}
	} else {
		delete(s.conns, c)
	}
}

func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close() // it may be closed
	}
}
