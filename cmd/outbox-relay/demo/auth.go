package demo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Auth speaks to an emulated Firebase Auth over its REST API: as an
// administrator to make users, and as an app's SDK to sign in and to refresh.
// The emulator takes a project's ID for its API key.
type Auth struct {
	Addr    string // HOST:PORT
	Project string
	HTTP    *http.Client
}

// samplePassword is every sample user's.
const samplePassword = "sample-password"

func sampleEmail(uid string) string { return uid + "@sample.example" }

// Session is a signed-in user's.
type Session struct {
	Refresh string         // the refresh token
	Claims  map[string]any // of the ID token, as JSON has them
}

// ClaimsVersion is the version of the claims that the relay set; 0: none yet.
func (s *Session) ClaimsVersion() int64 {
	version, _ := s.Claims["claimsVersion"].(float64)
	return int64(version)
}

// CreateUser makes a user who can sign in.
func (a *Auth) CreateUser(ctx context.Context, uid string) error {
	body := map[string]any{"localId": uid, "email": sampleEmail(uid), "password": samplePassword}
	if err := a.postJSON(ctx, "/identitytoolkit.googleapis.com/v1/projects/"+url.PathEscape(a.Project)+"/accounts", body, true, &struct{}{}); err != nil {
		return fmt.Errorf("create user %s: %w", uid, err)
	}
	return nil
}

// SignIn signs a user in. The error of one who does not exist is ErrNoUser.
func (a *Auth) SignIn(ctx context.Context, uid string) (*Session, error) {
	body := map[string]any{"email": sampleEmail(uid), "password": samplePassword, "returnSecureToken": true}
	var answer struct {
		IDToken      string `json:"idToken"`
		RefreshToken string `json:"refreshToken"`
	}
	if err := a.postJSON(ctx, "/identitytoolkit.googleapis.com/v1/accounts:signInWithPassword?key="+url.QueryEscape(a.Project), body, false, &answer); err != nil {
		return nil, fmt.Errorf("sign in %s: %w", uid, err)
	}
	return session(answer.RefreshToken, answer.IDToken)
}

// Renew forces a new ID token, which carries the claims of this moment.
func (a *Auth) Renew(ctx context.Context, s *Session) (*Session, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.Refresh}}
	var answer struct {
		IDToken      string `json:"id_token"`
		RefreshToken string `json:"refresh_token"`
	}
	if err := a.post(ctx, "/securetoken.googleapis.com/v1/token?key="+url.QueryEscape(a.Project), "application/x-www-form-urlencoded", form.Encode(), false, &answer); err != nil {
		return nil, fmt.Errorf("refresh token: %w", err)
	}
	return session(answer.RefreshToken, answer.IDToken)
}

// session reads the claims out of an ID token. An emulator's is not signed, so
// there is nothing to verify.
func session(refresh, idToken string) (*Session, error) {
	parts := strings.Split(idToken, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("read ID token: %d parts, want 3", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, fmt.Errorf("read ID token: %w", err)
	}
	s := &Session{Refresh: refresh}
	if err := json.Unmarshal(payload, &s.Claims); err != nil {
		return nil, fmt.Errorf("read ID token: %w", err)
	}
	return s, nil
}

// ErrNoUser says that there is no such user.
var ErrNoUser = errors.New("no such user")

func (a *Auth) postJSON(ctx context.Context, path string, body map[string]any, owner bool, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.post(ctx, path, "application/json", string(data), owner, answer)
}

func (a *Auth) post(ctx context.Context, path, contentType, body string, owner bool, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.Addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	if owner {
		req.Header.Set("Authorization", "Bearer owner")
	}
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode == http.StatusOK {
		return json.NewDecoder(resp.Body).Decode(answer)
	}
	var refusal struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.NewDecoder(resp.Body).Decode(&refusal) // without a message the status has to do
	switch refusal.Error.Message {
	case "EMAIL_NOT_FOUND", "USER_NOT_FOUND":
		return ErrNoUser
	}
	return fmt.Errorf("status %d: %s", resp.StatusCode, refusal.Error.Message)
}
