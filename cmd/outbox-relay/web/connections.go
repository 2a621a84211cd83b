package web

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// maxConns is how many connections a server keeps. Beyond it a new one takes the place of
// that which has been quiet for the longest, so that who opens many and asks nothing cannot
// take from the process what health, metrics and operators need. One with a request under
// way is never closed: while there are more of those, there are more connections.
const maxConns = 1000

// conns are the open connections of a server, and which of them are quiet: on which no
// request's header was read yet, or none since the last answer.
type conns struct {
	most  int
	mu    sync.Mutex
	open  map[net.Conn]*list.Element // in quiet; nil: a request is under way
	quiet list.List                  // of net.Conn, that which is so for the longest first
}

// bound has a server keep at most so many connections, of which it closes the quiet ones when it
// is shut down: for those on which nothing was asked yet net/http would wait, for seconds.
func bound(srv *http.Server, most int) {
	c := &conns{most: most, open: make(map[net.Conn]*list.Element)}
	srv.ConnState = c.note
	srv.RegisterOnShutdown(c.closeQuiet)
}

func (c *conns) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.open[conn]
	if !known && state != http.StateNew {
		return // it was closed to make room
	}
	if at != nil {
		c.quiet.Remove(at)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = c.quiet.PushBack(conn)
		c.makeRoom()
	case http.StateActive:
		c.open[conn] = nil
	default:
		delete(c.open, conn)
	}
}

// makeRoom closes quiet connections that are too many, but for the one that became so last.
func (c *conns) makeRoom() {
	for len(c.open) > c.most && c.quiet.Len() > 1 {
		c.drop(c.quiet.Front())
	}
}

// drop closes a quiet connection.
func (c *conns) drop(at *list.Element) {
	conn, _ := c.quiet.Remove(at).(net.Conn)
	delete(c.open, conn)
	_ = conn.Close() // it may be closed
}

func (c *conns) closeQuiet() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.quiet.Len() > 0 {
		c.drop(c.quiet.Front())
	}
}
