package auth_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"outboxrelay/deploy/local/auth"
)

const (
	fuzzAdmin  = "/identitytoolkit.googleapis.com/v1/projects/fuzz/"
	fuzzClient = "/identitytoolkit.googleapis.com/v1/"
)

// fuzzRoutes are all there are, and some that there are not.
var fuzzRoutes = []string{
	"POST " + fuzzAdmin + auth.MethodCreate, "POST " + fuzzAdmin + auth.MethodLookup, "POST " + fuzzAdmin + auth.MethodUpdate,
	"POST " + fuzzAdmin + auth.MethodDelete, "POST " + fuzzAdmin + auth.MethodBatchDelete, "GET " + fuzzAdmin + auth.MethodBatchGet,
	"POST " + fuzzAdmin + auth.MethodQuery, "POST " + fuzzClient + auth.MethodSignUp, "POST " + fuzzClient + auth.MethodLookup,
	"POST " + fuzzClient + auth.MethodUpdate, "POST " + fuzzClient + auth.MethodDelete, "POST " + fuzzClient + auth.MethodSignInPassword,
	"POST " + fuzzClient + auth.MethodSignInCustom, "POST /securetoken.googleapis.com/v1/token", "DELETE /emulator/v1/projects/fuzz/accounts",
	"GET /", "PUT /nowhere", "OPTIONS " + fuzzClient + auth.MethodSignUp, "PATCH " + fuzzAdmin + auth.MethodUpdate,
}

// FuzzRequests sends any query, credential and body to every route. The server
// never fails, refuses in JSON, and knows its accounts afterwards.
func FuzzRequests(f *testing.F) {
	for i := range fuzzRoutes {
		f.Add(uint8(i), "key=fuzz", "Bearer owner", `{"localId":"u","email":"u@example.com","password":"secret","customAttributes":"{\"role\":\"x\"}","validSince":"1"}`)
		f.Add(uint8(i), "key=fuzz&maxResults=1", "", `{"idToken":"x.e30.","email":"u@example.com","password":"secret","token":"{\"uid\":\"u\",\"claims\":{\"a\":[null]}}"}`)
		f.Add(uint8(i), "maxResults=-1&nextPageToken=%00", "bearer ya29.x", `{"localId":["u"],"localIds":["u",""],"limit":"0","force":true,"expression":[{}]}`)
	}
	f.Add(uint8(13), "key=fuzz", "", "grant_type=refresh_token&refresh_token=e30")
	f.Add(uint8(13), "key=fuzz", "", `{"grant_type":"refresh_token","refresh_token":"eyJfQXV0aEVtdWxhdG9yUmVmcmVzaFRva2VuIjoieCIsImxvY2FsSWQiOiJ1IiwicHJvamVjdElkIjoiZnV6eiJ9"}`)
	f.Add(uint8(2), "", "Bearer owner", `{"localId":"u","customAttributes":"null"}`)
	f.Add(uint8(2), "", "Bearer owner", `{"localId":"u","customAttributes":"{\"a\":1e999}","deleteAttribute":["DISPLAY_NAME"]}`)
	f.Add(uint8(2), "", "Bearer owner", `[[[[[[`)
	server, err := auth.Open(auth.Options{})
	if err != nil {
		f.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	f.Cleanup(func() {
		client.CloseIdleConnections()
		if err := server.Close(); err != nil {
			f.Error(err)
		}
	})
	addr, err := server.Start("127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	ask := func(t *testing.T, route, query, credential, body string) (int, []byte) {
		t.Helper()
		verb, path, _ := strings.Cut(route, " ")
		u := url.URL{Scheme: "http", Host: addr, Path: path, RawQuery: query}
		r, err := http.NewRequestWithContext(t.Context(), verb, u.String(), strings.NewReader(body))
		if err != nil {
			t.Skip() // no client can ask so
		}
		r.Header["Authorization"] = []string{credential}
		resp, err := client.Do(r)
		if err != nil {
			if strings.Contains(err.Error(), "invalid header field value") {
				t.Skip()
			}
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, answer
	}
	f.Fuzz(func(t *testing.T, route uint8, query, credential, body string) {
		const owner = "Bearer owner"
		ask(t, fuzzRoutes[14], "", "", "")
		if status, answer := ask(t, fuzzRoutes[0], "", owner, `{"localId":"u","email":"u@example.com","password":"secret"}`); status != http.StatusOK {
			t.Fatalf("create the account: %d %s", status, answer)
		}
		asked := fuzzRoutes[int(route)%len(fuzzRoutes)]
		status, answer := ask(t, asked, query, credential, body)
		switch {
		case status >= 500 && status != http.StatusNotImplemented, status < 200:
			t.Fatalf("%s: got %d: %s", asked, status, answer)
		case status == http.StatusBadRequest && !json.Valid(answer) && bytes.HasPrefix(answer, []byte("400 Bad Request")): // no HTTP at all
		case status != http.StatusNoContent && !json.Valid(answer):
			t.Fatalf("%s: got %d with no JSON: %s", asked, status, answer)
		}
		if status, answer := ask(t, fuzzRoutes[5], "", owner, ""); status != http.StatusOK || !json.Valid(answer) {
			t.Fatalf("afterwards the accounts are listed with %d: %s", status, answer)
		}
		if status, answer := ask(t, fuzzRoutes[0], "", owner, `{"localId":"v"}`); status != http.StatusOK && !bytes.Contains(answer, []byte("DUPLICATE_LOCAL_ID")) {
			t.Fatalf("afterwards an account is made with %d: %s", status, answer)
		}
	})
}

// FuzzAdminRequests switches faults on by any body: what is taken is listed and
// can be switched off, and the calls of clients go on.
func FuzzAdminRequests(f *testing.F) {
	f.Add(`{"method":"accounts:update","status":503,"message":"X","retryAfter":"1s"}`, "1")
	f.Add(`{"delay":"-1s"}`, "0")
	f.Add(`{"share":1e308,"drop":true}`, "-1")
	f.Add(`{"share":0.5,"seed":18446744073709551615,"skip":9223372036854775807,"times":9223372036854775807,"drop":true}`, "9999999999999999999999")
	f.Add(`{"status":400,"message":"`+strings.Repeat("x", 1000)+`\u0000"}`, "%2F")
	f.Add(`{} {}`, "x")
	f.Add(`null`, "")
	server, err := auth.Open(auth.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { server.Close() })
	handler := server.AdminHandler()
	f.Fuzz(func(t *testing.T, body, id string) {
		status, answer := do(t, handler, http.MethodPost, "/faults", body)
		var made struct{ ID int }
		if status != http.StatusCreated && status != http.StatusBadRequest || json.Unmarshal(answer, &made) != nil {
			t.Fatalf("got %d: %s", status, answer)
		}
		var listed []map[string]any
		if status, answer := do(t, handler, http.MethodGet, "/faults", ""); status != http.StatusOK || json.Unmarshal(answer, &listed) != nil || len(listed) > 0 != (made.ID > 0) {
			t.Fatalf("listed with %d: %s", status, answer)
		}
		if status, answer := do(t, handler, http.MethodDelete, "/faults/"+url.PathEscape(id), ""); status >= 500 {
			t.Fatalf("switched off %q with %d: %s", id, status, answer)
		}
		if status, _ := do(t, handler, http.MethodDelete, "/faults", ""); status != http.StatusNoContent {
			t.Fatalf("all switched off with %d", status)
		}
		if left := server.Faults().List(); len(left) > 0 {
			t.Fatalf("%d faults are left", len(left))
		}
	})
}

func do(t *testing.T, handler http.Handler, method, target, body string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
	return w.Code, w.Body.Bytes()
}
