package pubsub

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzAdminRequests switches faults on by any body: what is taken is listed and
// can be switched off, and nothing of it is the server's own failure.
func FuzzAdminRequests(f *testing.F) {
	f.Add(`{"method":"Publish","topic":"orders","code":"UNAVAILABLE","for":"1s"}`)
	f.Add(`{"attributes":{"eventId":"x"},"delay":"2562047h47m16.854775807s","times":1}`)
	f.Add(`{"share":1e308,"seed":18446744073709551615,"loseResponse":true,"code":"ABORTED"}`)
	f.Add(`{"for":"-1ns","times":-1,"share":-0.0}`)
	f.Add(`{"code":"OK"}`)
	f.Add(`{} {}`)
	f.Add(`null`)
	s, err := Open(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	handler := s.AdminHandler()
	do := func(t *testing.T, method, target, body string) (int, []byte) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
		return w.Code, w.Body.Bytes()
	}
	f.Fuzz(func(t *testing.T, body string) {
		var made struct{ ID int }
		status, answer := do(t, http.MethodPost, "/faults", body)
		if status != http.StatusCreated && status != http.StatusBadRequest || json.Unmarshal(answer, &made) != nil {
			t.Fatalf("got %d: %s", status, answer)
		}
		var listed []map[string]any
		status, answer = do(t, http.MethodGet, "/faults", "")
		if status != http.StatusOK || json.Unmarshal(answer, &listed) != nil || len(listed) > 1 {
			t.Fatalf("listed with %d: %s", status, answer)
		}
		if status, answer := do(t, http.MethodGet, "/counts", ""); status != http.StatusOK || !json.Valid(answer) {
			t.Fatalf("counted with %d: %s", status, answer)
		}
		if status, answer := do(t, http.MethodDelete, "/faults", ""); status != http.StatusNoContent {
			t.Fatalf("switched off with %d: %s", status, answer)
		}
		if left := s.Faults().List(); len(left) > 0 {
			t.Fatalf("%d faults are left", len(left))
		}
	})
}
