package auth_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/auth"
)

const (
	toolkit = "/identitytoolkit.googleapis.com/v1/"
	tokens  = "/securetoken.googleapis.com/v1/token"
	owner   = "Bearer owner"
)

// post returns the status of a call, and its answer or the code of its refusal.
func post(t *testing.T, url, authorization, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatalf("%s: %d %s", url, resp.StatusCode, b)
	}
	return resp.StatusCode, answer
}

// message is the refusal's, "" for an answer.
func message(answer map[string]any) string {
	body, _ := answer["error"].(map[string]any)
	s, _ := body["message"].(string)
	return s
}

// TestARevokedRefreshTokenIsRefused is as in production; Google's emulator goes on
// taking the token.
func TestARevokedRefreshTokenIsRefused(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_, addr := start(t, auth.Options{Now: func() time.Time { return now }})
	signIn := func() string {
		t.Helper()
		status, answer := post(t, "http://"+addr+toolkit+"accounts:signInWithCustomToken?key=p", "", `{"token":"{\"uid\":\"alice\"}"}`)
		if status != http.StatusOK {
			t.Fatalf("sign in = %d %v", status, answer)
		}
		return answer["refreshToken"].(string)
	}
	refresh := func(token string) (int, string) {
		t.Helper()
		status, answer := post(t, "http://"+addr+tokens+"?key=p", "", `{"grant_type":"refresh_token","refresh_token":"`+token+`"}`)
		return status, message(answer)
	}
	before := signIn()
	if status, message := refresh(before); status != http.StatusOK {
		t.Fatalf("refresh = %d %s", status, message)
	}
	status, answer := post(t, "http://"+addr+toolkit+"projects/p/accounts:update", owner,
		`{"localId":"alice","validSince":"`+strconv.FormatInt(now.Unix()+1, 10)+`"}`)
	if status != http.StatusOK {
		t.Fatalf("revoke = %d %v", status, answer)
	}
	if status, message := refresh(before); status != http.StatusBadRequest || message != "TOKEN_EXPIRED" {
		t.Errorf("refresh after the revocation = %d %s, want 400 TOKEN_EXPIRED", status, message)
	}
	now = now.Add(time.Second)
	if status, message := refresh(signIn()); status != http.StatusOK {
		t.Errorf("refresh after a new sign-in = %d %s", status, message)
	}
}

func TestWhatIsLeftOutIsRefusedByName(t *testing.T) {
	_, addr := start(t, auth.Options{})
	for _, tt := range []struct{ path, body, want string }{
		{toolkit + "accounts:signInWithIdp?key=p", `{}`, "POST " + toolkit + "accounts:signInWithIdp"},
		{"/identitytoolkit.googleapis.com/v2/projects/p/tenants", `{}`, "tenants"},
		{toolkit + "projects/p/accounts", `{"phoneNumber":"+15550100"}`, "field phoneNumber"},
		{toolkit + "projects/p/accounts:lookup", `{"federatedUserId":[]}`, "field federatedUserId"},
		{toolkit + "projects/p/accounts:query", `{"sortBy":"NAME"}`, "sorting by NAME"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			status, answer := post(t, "http://"+addr+tt.path, owner, tt.body)
			if status != http.StatusNotImplemented || !strings.Contains(message(answer), tt.want) {
				t.Errorf("%d %s, want 501 naming %q", status, message(answer), tt.want)
			}
		})
	}
}

func TestPagesOfOtherSitesMayCall(t *testing.T) {
	_, addr := start(t, auth.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, "http://"+addr+tokens+"?key=p", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "http://localhost:3000")
	req.Header.Set("Access-Control-Request-Headers", "content-type,x-client-version")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := []any{
		resp.StatusCode, resp.Header.Get("Access-Control-Allow-Origin"), resp.Header.Get("Access-Control-Allow-Headers"),
	}
	want := []any{http.StatusNoContent, "http://localhost:3000", "content-type,x-client-version"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preflight (-want +got):\n%s", diff)
	}
}

func TestCounts(t *testing.T) {
	s, addr := start(t, auth.Options{})
	base := "http://" + addr + toolkit + "projects/p/"
	post(t, base+"accounts", owner, `{"localId":"alice"}`)
	post(t, base+"accounts:update", owner, `{"localId":"alice","customAttributes":"{\"a\":1}"}`)
	post(t, base+"accounts:update", owner, `{"localId":"alice","validSince":1}`)
	post(t, base+"accounts:update", owner, `{"localId":"nobody","customAttributes":"{}"}`)
	got := s.Counts()
	if got.Calls[auth.MethodUpdate] != 3 || got.Failed[auth.MethodUpdate] != 1 || got.Calls[auth.MethodCreate] != 1 {
		t.Errorf("counts = %+v, want 3 updates of which 1 failed, 1 create", got)
	}
	want := map[string]int64{"localId": 3, "customAttributes": 2, "validSince": 1}
	if diff := cmp.Diff(want, got.Updates); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

func TestAdminHandler(t *testing.T) {
	s, _ := start(t, auth.Options{})
	for _, step := range []struct {
		method, path, body string
		want               int
		answer             string // "": whatever it says
	}{
		{"POST", "/faults", `{"method":"accounts:update","account":"alice","field":"validSince","skip":1,"times":2,"share":0.5,"seed":7,` +
			`"delay":"1s","loseResponse":true,"status":503,"message":"QUOTA","retryAfter":"3s"}`, 201, `{"id":1}`},
		{"GET", "/faults", "", 200, `[{"id":1,"method":"accounts:update","account":"alice","field":"validSince","skip":1,"times":2,"share":0.5,"seed":7,` +
			`"delay":"1s","loseResponse":true,"status":503,"message":"QUOTA","retryAfter":"3s","met":0,"hit":0}]`},
		{"POST", "/faults", `{"drop":true}`, 201, `{"id":2}`},
		{"POST", "/faults", `{"method":"nonsense","drop":true}`, 400, `{"error":"add fault: no method \"nonsense\""}`},
		{"DELETE", "/faults/1", "", 204, ""},
		{"DELETE", "/faults", "", 204, ""},
		{"GET", "/faults", "", 200, `[]`},
		{"GET", "/counts", "", 200, ""},
	} {
		w := httptest.NewRecorder()
		s.AdminHandler().ServeHTTP(w, httptest.NewRequest(step.method, step.path, strings.NewReader(step.body)))
		if got := strings.TrimSpace(w.Body.String()); w.Code != step.want || (step.answer != "" && got != step.answer) {
			t.Errorf("%s %s = %d %s, want %d %s", step.method, step.path, w.Code, got, step.want, step.answer)
		}
	}
}
