package auth

import (
	"encoding/json"
	"strconv"
	"strings"
)

type passwordRequest struct {
	Email    *string `json:"email"`
	Password string  `json:"password"`

	ReturnSecureToken bool   `json:"returnSecureToken"` // changes nothing
	ClientType        string `json:"clientType"`
}

type passwordResponse struct {
	Kind       string `json:"kind"`
	Registered bool   `json:"registered"`
	LocalID    string `json:"localId"`
	Email      string `json:"email"`
	*tokens
}

func signInWithPassword(c *call, p *project, req passwordRequest) (any, change, error) {
	if req.Email == nil {
		return nil, change{}, refuse("MISSING_EMAIL")
	}
	email, err := canonicalEmail(*req.Email)
	if err != nil {
		return nil, change{}, err
	}
	a, ok := p.withEmail(email)
	switch {
	case req.Password == "":
		return nil, change{}, refuse("MISSING_PASSWORD")
	case !ok:
		return nil, change{}, refuse("EMAIL_NOT_FOUND")
	case a.Disabled:
		return nil, change{}, refuse("USER_DISABLED")
	case !a.hasPassword(req.Password):
		return nil, change{}, refuse("INVALID_PASSWORD")
	}
	a.LastLoginAt = c.now.UnixMilli()
	return passwordResponse{
		Kind: "identitytoolkit#VerifyPasswordResponse", Registered: true, LocalID: a.LocalID, Email: a.Email,
		tokens: a.issue(c, providerPassword, nil),
	}, change{Put: []account{a}}, nil
}

type customTokenRequest struct {
	Token string `json:"token"`

	ReturnSecureToken bool `json:"returnSecureToken"` // changes nothing
}

type customTokenResponse struct {
	Kind      string `json:"kind"`
	IsNewUser bool   `json:"isNewUser"`
	*tokens
}

// customTokenAudience is what a custom token is made for.
const customTokenAudience = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit" //nolint:gosec // names a service, and is no secret

type customToken struct {
	Audience string          `json:"aud"`
	UID      any             `json:"uid"`
	UserID   any             `json:"user_id"`
	Claims   json.RawMessage `json:"claims"`
}

// signInWithCustomToken makes the account if there is none. A token may be bare JSON.
func signInWithCustomToken(c *call, p *project, req customTokenRequest) (any, change, error) {
	token, err := parseCustomToken(req.Token)
	if err != nil {
		return nil, change{}, err
	}
	id := primitive(token.UID)
	if id == "" {
		id = primitive(token.UserID)
	}
	if id == "" {
		return nil, change{}, refuse("MISSING_IDENTIFIER")
	}
	var extra map[string]json.RawMessage
	if token.Claims != nil {
		if err := json.Unmarshal(token.Claims, &extra); err != nil || extra == nil {
			return nil, change{}, refuse("INVALID_CLAIMS")
		}
		if err := checkClaims(extra); err != nil {
			return nil, change{}, err
		}
	}
	a, known := p.accounts[id]
	if a.Disabled {
		return nil, change{}, refuse("USER_DISABLED")
	}
	if !known {
		a = account{LocalID: id, CreatedAt: c.now.UnixMilli()}
	}
	a.CustomAuth, a.LastLoginAt = true, c.now.UnixMilli()
	return customTokenResponse{
		Kind: "identitytoolkit#VerifyCustomTokenResponse", IsNewUser: !known,
		tokens: a.issue(c, providerCustom, extra),
	}, change{Put: []account{a}}, nil
}

func parseCustomToken(token string) (parsed customToken, err error) {
	switch {
	case token == "":
		return parsed, refuse("MISSING_CUSTOM_TOKEN")
	case strings.HasPrefix(token, "{"):
		if err := json.Unmarshal([]byte(token), &parsed); err != nil {
			return parsed, refuse("INVALID_CUSTOM_TOKEN : ((Auth Emulator only accepts strict JSON or JWTs as fake custom tokens.))")
		}
		return parsed, nil
	}
	if err := decodeJWT(token, &parsed); err != nil {
		return parsed, refuse("INVALID_CUSTOM_TOKEN : Invalid assertion format")
	}
	if parsed.Audience != customTokenAudience {
		return parsed, refuse("INVALID_CUSTOM_TOKEN : ((Invalid aud (audience): " + parsed.Audience +
			" Note: Firebase ID Tokens / third-party tokens cannot be used with signInWithCustomToken.))")
	}
	return parsed, nil
}

// primitive is a JSON scalar as a string; "" for anything else.
func primitive(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
