package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProblemDocument(t *testing.T) {
	h := Pages{"/readyz": http.HandlerFunc(Alive)}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/readyz", nil))
	resp := w.Result()
	var got Problem
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := Problem{Type: "about:blank", Title: "Method Not Allowed", Status: 405, Detail: "PUT is not allowed here", Instance: "/readyz"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	if got, want := resp.Header.Get("Allow"), "GET, HEAD"; got != want {
		t.Errorf("Allow is %q, want %q", got, want)
	}
}

func TestProblemsInstanceIsAnAddress(t *testing.T) {
	w := httptest.NewRecorder()
	Pages{}.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/a%20b/%22%E2%80%AE", nil))
	var got Problem
	if err := json.NewDecoder(w.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if want := "/a%20b/%22%E2%80%AE"; got.Instance != want {
		t.Errorf("the instance is %q, want %q", got.Instance, want)
	}
}
