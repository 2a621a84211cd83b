package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// refreshRecord is what a refresh token says. It is no secret and signed by nobody.
type refreshRecord struct {
	Marker      string                     `json:"_AuthEmulatorRefreshToken"`
	LocalID     string                     `json:"localId"`
	Provider    string                     `json:"provider"`
	ProjectID   string                     `json:"projectId"`
	ExtraClaims map[string]json.RawMessage `json:"extraClaims,omitempty"`
	IssuedAt    int64                      `json:"issuedAt"` // s
}

type refreshRequest struct {
	GrantType    string `json:"grant_type"`
	RefreshToken string `json:"refresh_token"`
}

type refreshResponse struct {
	AccessToken  string `json:"access_token"`
	ExpiresIn    string `json:"expires_in"`
	TokenType    string `json:"token_type"`
	RefreshToken string `json:"refresh_token"`
	IDToken      string `json:"id_token"`
	UserID       string `json:"user_id"`
	ProjectID    string `json:"project_id"` // a number, the same for all
}

// refresh exchanges a refresh token for new tokens. The request is a form, or JSON.
func refresh(c *call, p *project) (any, change, error) {
	var req refreshRequest
	if strings.HasPrefix(strings.TrimSpace(string(c.body)), "{") {
		if err := decode(c.body, &req); err != nil {
			return nil, change{}, err
		}
	} else {
		form, err := url.ParseQuery(string(c.body))
		if err != nil {
			return nil, change{}, malformed(err)
		}
		req = refreshRequest{GrantType: form.Get("grant_type"), RefreshToken: form.Get("refresh_token")}
	}
	var record refreshRecord
	if req.RefreshToken != "" {
		var err error
		if record, err = decodeRefreshToken(req.RefreshToken); err != nil {
			return nil, change{}, refuse("INVALID_REFRESH_TOKEN")
		}
	}
	switch {
	case req.GrantType == "":
		return nil, change{}, refuse("MISSING_GRANT_TYPE")
	case req.GrantType != "refresh_token":
		return nil, change{}, refuse("INVALID_GRANT_TYPE")
	case req.RefreshToken == "":
		return nil, change{}, refuse("MISSING_REFRESH_TOKEN")
	case record.ProjectID != c.project:
		return nil, change{}, refuse("INVALID_REFRESH_TOKEN")
	}
	a, ok := p.accounts[record.LocalID]
	switch {
	case !ok:
		return nil, change{}, refuse("INVALID_REFRESH_TOKEN")
	case a.Disabled:
		return nil, change{}, refuse("USER_DISABLED")
	case record.IssuedAt < a.ValidSince:
		return nil, change{}, refuse("TOKEN_EXPIRED")
	}
	fresh := a.issue(c, record.Provider, record.ExtraClaims)
	return refreshResponse{
		AccessToken: fresh.IDToken, IDToken: fresh.IDToken, RefreshToken: fresh.RefreshToken,
		ExpiresIn: fresh.ExpiresIn, TokenType: "Bearer", UserID: a.LocalID, ProjectID: "12345",
	}, change{Put: []account{a}}, nil
}

func decodeRefreshToken(token string) (record refreshRecord, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return record, fmt.Errorf("decode refresh token: %w", err)
	}
	if err := json.Unmarshal(b, &record); err != nil {
		return record, fmt.Errorf("decode refresh token: %w", err)
	}
	if record.Marker == "" {
		return record, errors.New("decode refresh token: it is none")
	}
	return record, nil
}
