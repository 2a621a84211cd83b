package admin_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"outboxrelay/dlq/admin"
)

// serve runs the API behind a real server, whose own read timeout is short. Until a
// request's headers are there it waits: a busy machine takes its time to send them.
func (f *fixture) serve() *httptest.Server {
	f.t.Helper()
	server := httptest.NewUnstartedServer(f.handler)
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Config.ReadHeaderTimeout, server.Config.IdleTimeout = time.Minute, time.Minute
	server.Start()
	f.t.Cleanup(server.Close)
	return server
}

// TestServersReadTimeoutEndsNoRequest lets the queue take longer than the server lets a client talk: until the request's own time is up.
func TestServersReadTimeoutEndsNoRequest(t *testing.T) {
	f := setup(t, func(c *admin.Config) { c.Timeout = 400 * time.Millisecond })
	f.queue.block = true
	server := f.serve()
	for _, e := range []endpoint{endpoints[0], endpoints[3]} {
		r, err := http.NewRequestWithContext(t.Context(), e.method, server.URL+admin.Prefix+e.target, strings.NewReader(e.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer dev-operator")
		r.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, 1000)
		n, _ := resp.Body.Read(body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body[:n]), "did not answer within 400ms") {
			t.Errorf("%s %s: got %d: %s", e.method, e.target, resp.StatusCode, body[:n])
		}
	}
}

// TestOversizedBodyOverTheWire sends more than is taken, as a client that does not stop.
func TestOversizedBodyOverTheWire(t *testing.T) {
	f := setup(t)
	server := f.serve()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %s/dlq/x/replay HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer dev-operator\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n", admin.Prefix)
	if _, err := conn.Write([]byte(strings.Repeat(" ", 64<<10+1))); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 500)
	n, err := conn.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 413 ") {
		t.Errorf("got %q (%v)", answer[:n], err)
	}
}
