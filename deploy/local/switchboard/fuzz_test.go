package switchboard

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

// FuzzSwitch sends any method, path and body: every answer with a body is JSON,
// none is the server's own failure, and what was added is listed as it was meant.
func FuzzSwitch(f *testing.F) {
	f.Add("POST", "/faults", `{"code":"UNAVAILABLE","delay":"1.5s"}`)
	f.Add("POST", "/faults", `{"code":"CANCELLED","delay":"-2562047h47m16.854775808s"}`)
	f.Add("POST", "/faults", `{"code":"Canceled"} trailing`)
	f.Add("POST", "/faults", `{"code":17,"delay":1}`)
	f.Add("POST", "/faults", `{"code":"\ud800","Code":"OK"}`)
	f.Add("POST", "/faults", strings.Repeat("[", 10_000))
	f.Add("GET", "/faults", "")
	f.Add("DELETE", "/faults/1", "")
	f.Add("DELETE", "/faults/%2e%2e", "")
	f.Add("DELETE", "/faults/99999999999999999999", "")
	f.Add("PATCH", "//faults/../faults", "")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		h := setup()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/", strings.NewReader(body))
		if err != nil {
			return
		}
		if r.URL, err = r.URL.Parse(path); err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		isJSON := w.Header().Get("Content-Type") == "application/json"
		if w.Code >= 500 || isJSON && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("got %d %q: %s", w.Code, w.Header(), w.Body)
		}
		listed := httptest.NewRecorder()
		h.ServeHTTP(listed, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/faults", nil))
		var faults []fault
		if err := json.Unmarshal(listed.Body.Bytes(), &faults); err != nil {
			t.Fatalf("what is listed cannot be read: %v: %s", err, listed.Body)
		}
		if w.Code != http.StatusCreated {
			return
		}
		var want fault
		if err := json.NewDecoder(strings.NewReader(body)).Decode(&want); err != nil {
			t.Fatalf("%q was taken, though %v", body, err)
		}
		if diff := cmp.Diff([]fault{want}, faults); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzValues wants that what can be read is written so that it reads the same.
func FuzzValues(f *testing.F) {
	for _, d := range []time.Duration{0, time.Nanosecond, -time.Hour, math.MaxInt64, math.MinInt64} {
		f.Add(d.String())
	}
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		text, err := Code(c).MarshalText()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("17")
	f.Add(`"OK"`)
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, text string) {
		var d, sameDuration Duration
		if d.UnmarshalText([]byte(text)) == nil {
			written, err := d.MarshalText()
			if err != nil || sameDuration.UnmarshalText(written) != nil || sameDuration != d {
				t.Errorf("duration %q is written as %q and read as %v", text, written, time.Duration(sameDuration))
			}
		}
		var c, sameCode Code
		if c.UnmarshalText([]byte(text)) == nil {
			written, err := c.MarshalText()
			if err != nil || sameCode.UnmarshalText(written) != nil || sameCode != c || c > Code(codes.Unauthenticated) {
				t.Errorf("code %q is written as %q and read as %v", text, written, codes.Code(sameCode))
			}
		}
	})
}
