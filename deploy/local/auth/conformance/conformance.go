// Package conformance says what an Auth server does, as tests over the real Admin
// SDK and the REST calls of a client. The embedded server and Google's emulator both
// pass it.
//
// Left out, because Google's emulator does not do what production does: it goes on
// taking a refresh token that was revoked.
package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
)

// patience bounds a test. A conforming server needs a small part of it; an
// emulator on a busy machine stalls for seconds.
const patience = 2 * time.Minute

// Run holds the server at addr (HOST:PORT) to the suite. Every test has a project of
// its own, so that the server may be shared.
func Run(t *testing.T, addr string) {
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", addr)
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"accounts", accounts},
		{"claims", claims},
		{"sign-in", signIn},
		{"refusals", refusals},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, tt := range group.tests {
				t.Run(tt.name, func(t *testing.T) { tt.run(newEnv(t, addr)) })
			}
		})
	}
}

type test struct {
	name string
	run  func(e *env)
}

// env is what a test works with.
type env struct {
	*testing.T
	ctx     context.Context
	addr    string
	project string
	admin   *auth.Client
}

func newEnv(t *testing.T, addr string) *env {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	e := &env{T: t, ctx: ctx, addr: addr, project: "p-" + strings.ToLower(rand.Text()[:10])}
	e.admin = e.adminOf(e.project)
	return e
}

func (e *env) adminOf(project string) *auth.Client {
	e.Helper()
	app, err := firebase.NewApp(e.ctx, &firebase.Config{ProjectID: project})
	e.ok(err)
	client, err := app.Auth(e.ctx)
	e.ok(err)
	return client
}

type object = map[string]any

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("want no error, got %v", err)
	}
}

func (e *env) equal(want, got any) {
	e.Helper()
	if d := cmp.Diff(want, got); d != "" {
		e.Fatalf("-want +got:\n%s", d)
	}
}

// create makes a user with this ID.
func (e *env) create(uid string) *auth.UserRecord {
	e.Helper()
	u, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID(uid))
	e.ok(err)
	return u
}

func (e *env) get(uid string) *auth.UserRecord {
	e.Helper()
	u, err := e.admin.GetUser(e.ctx, uid)
	e.ok(err)
	return u
}

// setClaims sets those of alice, whom most tests are about.
func (e *env) setClaims(claims object) {
	e.Helper()
	e.ok(e.admin.SetCustomUserClaims(e.ctx, "alice", claims))
}

// session is what a client holds once it has signed in.
type session struct {
	ID, Refresh string
}

const (
	toolkit = "/identitytoolkit.googleapis.com/v1/"
	tokens  = "/securetoken.googleapis.com/v1/token"
)

// signIn has a client exchange a custom token.
func (e *env) signIn(uid string) session {
	e.Helper()
	custom, err := e.admin.CustomToken(e.ctx, uid)
	e.ok(err)
	return e.session(e.client("accounts:signInWithCustomToken", object{"token": custom, "returnSecureToken": true}))
}

func (e *env) session(answer object) session {
	e.Helper()
	id, _ := answer["idToken"].(string)
	refresh, _ := answer["refreshToken"].(string)
	if id == "" || refresh == "" || answer["expiresIn"] != "3600" {
		e.Fatalf("want tokens for 3600 s, got %v", answer)
	}
	return session{id, refresh}
}

// refresh has a client force new tokens.
func (e *env) refresh(s session) session {
	e.Helper()
	form := "grant_type=refresh_token&refresh_token=" + s.Refresh
	status, answer := e.request("POST", tokens+"?key="+e.project, "application/x-www-form-urlencoded", "", []byte(form))
	if status != http.StatusOK {
		e.Fatalf("refresh = %d %v", status, answer)
	}
	e.equal(answer["access_token"], answer["id_token"])
	e.equal("Bearer", answer["token_type"])
	return e.session(object{"idToken": answer["id_token"], "refreshToken": answer["refresh_token"], "expiresIn": answer["expires_in"]})
}

// verified is the token as the Admin SDK sees it.
func (e *env) verified(s session) *auth.Token {
	e.Helper()
	token, err := e.admin.VerifyIDToken(e.ctx, s.ID)
	e.ok(err)
	return token
}

// client makes a client's call that succeeds.
func (e *env) client(method string, body object) object {
	e.Helper()
	status, answer := e.post(toolkit+method+"?key="+e.project, "", body)
	if status != http.StatusOK {
		e.Fatalf("%s = %d %v", method, status, answer)
	}
	return answer
}

// clientRefused makes a client's call that fails with this code.
func (e *env) clientRefused(method string, body object, want string) {
	e.Helper()
	status, answer := e.post(toolkit+method+"?key="+e.project, "", body)
	e.refused(status, answer, want)
}

// refused compares the status with 400, and a message up to what explains it.
func (e *env) refused(status int, answer object, want string) {
	e.Helper()
	body, _ := answer["error"].(object)
	message, _ := body["message"].(string)
	code, _, _ := strings.Cut(message, " : ")
	if status != http.StatusBadRequest || (code != want && message != want) {
		e.Fatalf("want 400 %s, got %d %v", want, status, answer)
	}
	e.equal(float64(http.StatusBadRequest), body["code"])
}

const owner = "Bearer owner"

// post sends a body as JSON.
func (e *env) post(path, authorization string, body object) (int, object) {
	e.Helper()
	b, err := json.Marshal(body)
	e.ok(err)
	return e.request("POST", path, "application/json", authorization, b)
}

func (e *env) request(verb, path, contentType, authorization string, body []byte) (int, object) {
	e.Helper()
	req, err := http.NewRequestWithContext(e.ctx, verb, "http://"+e.addr+path, bytes.NewReader(body))
	e.ok(err)
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	e.ok(err)
	defer resp.Body.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(resp.Body)
	e.ok(err)
	var answer object
	if err := json.Unmarshal(b, &answer); err != nil {
		e.Fatalf("%s %s = %d, no JSON object: %s", verb, path, resp.StatusCode, b)
	}
	return resp.StatusCode, answer
}
