package web

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// visitor is a connection to a server, on which somebody may ask.
type visitor struct {
	net.Conn
	read *bufio.Reader
}

// serveBounded starts a server of at most so many connections, and returns how to visit it.
func serveBounded(t *testing.T, most int) (visit func() visitor) {
	t.Helper()
	lis, err := Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer(Pages{"/healthz": http.HandlerFunc(Alive)}, zap.NewNop())
	srv.ReadHeaderTimeout, srv.ReadTimeout, srv.IdleTimeout = 0, 0, 0 // so that nothing else closes a connection
	bound(srv, most)
	served := make(chan error, 1)
	go func() { served <- Serve(srv, lis) }()
	t.Cleanup(func() {
		if err := errors.Join(srv.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return func() visitor {
		conn, err := net.Dial("tcp", lis.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		return visitor{conn, bufio.NewReader(conn)}
	}
}

func (v visitor) ask() error {
	if _, err := io.WriteString(v, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(v.read, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// A visitor beyond the bound is answered, and whoever has been quiet for the longest has to go.
func TestConnectionsBeyondTheBound(t *testing.T) {
	visit := serveBounded(t, 3)
	silent, idle, slow := visit(), visit(), visit()
	if err := idle.ask(); err != nil { // accepted behind silent, which is thereby, too
		t.Fatal(err)
	}
	if _, err := io.WriteString(slow, "GET /healthz HTTP/1.1\r\nHo"); err != nil {
		t.Fatal(err)
	}
	if err := visit().ask(); err != nil {
		t.Fatalf("the fourth visitor: %v", err)
	}
	if _, err := silent.read.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("who never asked is still there: %v", err)
	}
	if err := idle.ask(); err != nil {
		t.Errorf("who asked has to go before who did not: %v", err)
	}
	if _, err := io.WriteString(slow, "st: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.ReadResponse(slow.read, nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("whose request was under way got %v, %v", resp, err)
	}
}

// Who opens a thousand connections ahead of a probe does not keep it out.
func TestManyQuietConnections(t *testing.T) {
	visit := serveBounded(t, 10)
	var quiet []visitor
	for range 100 {
		quiet = append(quiet, visit())
	}
	if err := visit().ask(); err != nil {
		t.Fatal(err)
	}
	closed := 0
	for _, v := range quiet[:91] {
		if _, err := v.read.ReadByte(); errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "reset") {
			closed++
		}
	}
	if closed != 91 {
		t.Errorf("%d of 91 connections were closed", closed)
	}
}

// A burst of requests is not cut off, and leaves no more connections than the bound.
func TestConnectionsOfABurst(t *testing.T) {
	srv := &http.Server{}
	bound(srv, 2)
	var burst []net.Conn
	for range 5 {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = there.Close() })
		burst = append(burst, here)
		srv.ConnState(here, http.StateNew)
		srv.ConnState(here, http.StateActive)
	}
	closed := func() (n int) {
		for _, conn := range burst {
			if conn.SetDeadline(time.Time{}) != nil {
				n++
			}
		}
		return n
	}
	if n := closed(); n != 0 {
		t.Errorf("%d connections with a request under way were closed", n)
	}
	for _, conn := range burst {
		srv.ConnState(conn, http.StateIdle)
	}
	if n := closed(); n != 3 {
		t.Errorf("once all are answered %d of 5 connections are closed, want all but 2", n)
	}
}
