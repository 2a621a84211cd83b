package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// tokenLife is how long an ID token lasts.
const tokenLife = time.Hour

// tokens are what a client signs in to get.
type tokens struct {
	IDToken      string `json:"idToken"`
	RefreshToken string `json:"refreshToken"`
	ExpiresIn    string `json:"expiresIn"` // s
}

// issue returns tokens with the claims that the account has now, and notes in the
// account that it did. extra are the claims that the sign-in brought.
func (a *account) issue(c *call, provider string, extra map[string]json.RawMessage) *tokens {
	a.LastRefreshAt = c.now.UTC().Format("2006-01-02T15:04:05.000Z")
	record := refreshRecord{
		Marker: "DO NOT MODIFY", LocalID: a.LocalID, Provider: provider, ProjectID: c.project,
		ExtraClaims: extra, IssuedAt: c.now.Unix(),
	}
	return &tokens{
		IDToken:      encodeJWT(a.claims(c, provider, extra)),
		RefreshToken: base64.RawURLEncoding.EncodeToString(mustJSON(record)),
		ExpiresIn:    strconv.Itoa(int(tokenLife / time.Second)),
	}
}

// claims are the body of an ID token. Custom claims do not replace what says who
// the user is.
func (a *account) claims(c *call, provider string, extra map[string]json.RawMessage) map[string]any {
	claims := map[string]any{}
	put := func(name string, value any, present bool) {
		delete(claims, name)
		if present {
			claims[name] = value
		}
	}
	put("name", a.DisplayName, a.DisplayName != "")
	put("picture", a.PhotoURL, a.PhotoURL != "")
	custom := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(a.CustomAttributes), &custom) // checked when they were set; "" is none
	for _, from := range []map[string]json.RawMessage{custom, extra} {
		for name, value := range from {
			claims[name] = value
		}
	}
	identities := map[string][]string{}
	if a.Email != "" {
		identities["email"] = []string{a.Email}
	}
	put("email", a.Email, a.Email != "")
	put("email_verified", a.EmailVerified, a.EmailVerified != nil)
	put("phone_number", nil, false)
	put("provider_id", provider, provider == providerAnonymous)
	put("auth_time", a.LastLoginAt/1000, true)
	put("user_id", a.LocalID, true)
	put("firebase", map[string]any{"identities": identities, "sign_in_provider": provider}, true)
	put("iat", c.now.Unix(), true)
	put("exp", c.now.Add(tokenLife).Unix(), true)
	put("aud", c.project, true)
	put("iss", "https://securetoken.google.com/"+c.project, true)
	put("sub", a.LocalID, true)
	return claims
}

// signedIn is the account that an ID token is of, and how it signed in.
func (p *project) signedIn(idToken string) (a account, provider string, err error) {
	if idToken == "" {
		return a, "", refuse("MISSING_ID_TOKEN")
	}
	var token struct {
		UserID   string `json:"user_id"`
		IssuedAt int64  `json:"iat"`
		Firebase struct {
			Provider string `json:"sign_in_provider"`
		} `json:"firebase"`
	}
	if err := decodeJWT(idToken, &token); err != nil {
		return a, "", refuse("INVALID_ID_TOKEN")
	}
	a, ok := p.accounts[token.UserID]
	switch {
	case !ok:
		return a, "", refuse("USER_NOT_FOUND")
	case token.IssuedAt < a.ValidSince:
		return a, "", refuse("TOKEN_EXPIRED")
	case a.Disabled:
		return a, "", refuse("USER_DISABLED")
	}
	return a, token.Firebase.Provider, nil
}

// encodeJWT leaves the signature empty: alg none.
func encodeJWT(claims map[string]any) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(mustJSON(claims)) + "."
}

// decodeJWT reads a token's body. It checks no signature.
func decodeJWT(token string, into any) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("decode token: want three parts")
	}
	body, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return fmt.Errorf("decode token: %w", err)
	}
	return json.Unmarshal(body, into)
}

// mustJSON encodes what is made here, and so can be encoded.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
