package auth

import (
	"encoding/json"
	"slices"
)

// updateRequest changes an account. Absent fields leave what they name as it is.
type updateRequest struct {
	LocalID string `json:"localId"` // the administrator's
	IDToken string `json:"idToken"` // a client's, for its own account

	Email       string  `json:"email"`
	Password    string  `json:"password"`
	DisplayName *string `json:"displayName"`
	PhotoURL    *string `json:"photoUrl"`

	// The administrator's alone.
	EmailVerified    *bool        `json:"emailVerified"`
	DisableUser      *bool        `json:"disableUser"`
	CustomAttributes *string      `json:"customAttributes"` // JSON
	ValidSince       *json.Number `json:"validSince"`       // s
	CreatedAt        *json.Number `json:"createdAt"`        // ms
	LastLoginAt      *json.Number `json:"lastLoginAt"`

	DeleteAttribute []string `json:"deleteAttribute"`
	DeleteProvider  []string `json:"deleteProvider"`

	ReturnSecureToken bool   `json:"returnSecureToken"` // changes nothing
	ClientType        string `json:"clientType"`
}

type updateResponse struct {
	Kind             string         `json:"kind"`
	LocalID          string         `json:"localId"`
	EmailVerified    *bool          `json:"emailVerified,omitempty"`
	ProviderUserInfo []providerInfo `json:"providerUserInfo,omitempty"`
	Email            string         `json:"email,omitempty"`
	DisplayName      string         `json:"displayName,omitempty"`
	PhotoURL         string         `json:"photoUrl,omitempty"`
	PasswordHash     string         `json:"passwordHash,omitempty"`
	*tokens                         // of a change that voids the earlier ones
}

func update(c *call, p *project, req updateRequest) (any, change, error) {
	a, provider, err := updated(c, p, req)
	if err != nil {
		return nil, change{}, err
	}
	voided := req.Password != "" || (req.Email != "" && a.Email != p.accounts[a.LocalID].Email)
	if voided {
		a.ValidSince = c.now.Unix()
	}
	if req.Password != "" {
		provider = providerPassword
	}
	if c.admin {
		if err := a.override(req); err != nil {
			return nil, change{}, err
		}
		voided = voided || req.ValidSince != nil
	}
	if err := a.drop(req); err != nil {
		return nil, change{}, err
	}
	answer := updateResponse{
		Kind: "identitytoolkit#SetAccountInfoResponse", LocalID: a.LocalID,
		EmailVerified: a.EmailVerified, ProviderUserInfo: a.providers(),
		Email: a.Email, DisplayName: a.DisplayName, PhotoURL: a.PhotoURL, PasswordHash: a.PasswordHash,
	}
	if voided && provider != "" {
		answer.tokens = a.issue(c, provider, nil)
	}
	return answer, change{Put: []account{a}}, nil
}

// updated is the account with what its owner may change, and how the owner signed
// in; "" for the administrator.
func updated(c *call, p *project, req updateRequest) (a account, provider string, err error) {
	switch {
	case c.admin:
		var ok bool
		if req.LocalID == "" {
			return a, "", refuse("MISSING_LOCAL_ID")
		}
		if req.CustomAttributes != nil && *req.CustomAttributes != "" {
			if err := checkAttributes(*req.CustomAttributes); err != nil {
				return a, "", err
			}
		}
		if a, ok = p.accounts[req.LocalID]; !ok {
			return a, "", refuse("USER_NOT_FOUND")
		}
	case req.IDToken == "":
		return a, "", refuse("INVALID_REQ_TYPE : Unsupported request parameters.")
	case req.CustomAttributes != nil:
		return a, "", refuse("INSUFFICIENT_PERMISSION")
	default:
		if a, provider, err = p.signedIn(req.IDToken); err != nil {
			return a, "", err
		}
		if req.DisableUser != nil {
			return a, "", refuse("OPERATION_NOT_ALLOWED")
		}
	}
	if req.Email != "" {
		email, err := canonicalEmail(req.Email)
		if err != nil {
			return a, "", err
		}
		if email != a.Email {
			if _, taken := p.withEmail(email); taken {
				return a, "", refuse("EMAIL_EXISTS")
			}
			a.Email, a.EmailVerified = email, new(false)
		}
	}
	if req.Password != "" {
		if err := a.setPassword(req.Password, c.now); err != nil {
			return a, "", err
		}
	}
	set(&a.DisplayName, req.DisplayName)
	set(&a.PhotoURL, req.PhotoURL)
	return a, provider, nil
}

// override sets what the administrator alone may set.
func (a *account) override(req updateRequest) error {
	set(&a.Disabled, req.DisableUser)
	set(&a.CustomAttributes, req.CustomAttributes)
	if req.EmailVerified != nil {
		a.EmailVerified = req.EmailVerified
	}
	for _, n := range []struct {
		into *int64
		from *json.Number
	}{{&a.ValidSince, req.ValidSince}, {&a.CreatedAt, req.CreatedAt}, {&a.LastLoginAt, req.LastLoginAt}} {
		if n.from == nil {
			continue
		}
		v, err := n.from.Int64()
		if err != nil {
			return malformed(err)
		}
		*n.into = v
	}
	return nil
}

// drop removes what a request lists.
func (a *account) drop(req updateRequest) error {
	for _, attribute := range req.DeleteAttribute {
		switch attribute {
		case "USER_ATTRIBUTE_NAME_UNSPECIFIED":
		case "DISPLAY_NAME":
			a.DisplayName = ""
		case "PHOTO_URL":
			a.PhotoURL = ""
		case "PASSWORD":
			a.PasswordHash, a.Salt = "", ""
		case "EMAIL":
			a.Email, a.EmailVerified = "", nil
		default:
			return unsupported("deleteAttribute: " + attribute)
		}
	}
	if slices.Contains(req.DeleteProvider, providerPassword) {
		a.Email, a.EmailVerified, a.PasswordHash, a.Salt = "", nil, "", ""
	}
	return nil
}

func set[T any](into, from *T) {
	if from != nil {
		*into = *from
	}
}
