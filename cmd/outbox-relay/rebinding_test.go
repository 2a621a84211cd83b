package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// A page whose own name was made to resolve to this machine is of no other origin to its
// browser, which sends no sign of one: that name alone gives it away.
func TestFaultSwitchesAnswerLoopbackNamesAlone(t *testing.T) {
	t.Parallel()
	c := startChild(t, nil, "cloud", "--firestore", "127.0.0.1:0", "--pubsub", "127.0.0.1:0", "--auth", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	admin := c.stdout.find(t, `(?m)^ADMIN=(\S+)$`)
	_, port, _ := strings.Cut(admin, ":")
	for host, want := range map[string]int{
		admin: http.StatusCreated, "localhost:" + port: http.StatusCreated, "[::1]:" + port: http.StatusCreated,
		"evil.example.com:" + port: http.StatusForbidden, "127.0.0.1.evil.example.com": http.StatusForbidden,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+admin+"/pubsub/faults", strings.NewReader(`{"topic":"orders","code":"UNAVAILABLE"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %s: got %d, want %d", host, resp.StatusCode, want)
		}
	}
	c.signal(t, syscall.SIGTERM)
	c.wait(t)
}
