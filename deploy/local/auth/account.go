package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Sign-in providers, as ID tokens name them.
const (
	providerPassword  = "password"
	providerCustom    = "custom"
	providerAnonymous = "anonymous"
)

// minPassword is the length in characters that Identity Toolkit asks for.
const minPassword = 6

// account is a user, in the fields and the JSON of Identity Toolkit. A value is
// never changed once it is in a project.
type account struct {
	LocalID           string `json:"localId"`
	Email             string `json:"email,omitempty"`
	EmailVerified     *bool  `json:"emailVerified,omitempty"` // nil: never said
	DisplayName       string `json:"displayName,omitempty"`
	PhotoURL          string `json:"photoUrl,omitempty"`
	Disabled          bool   `json:"disabled,omitempty"`
	CustomAttributes  string `json:"customAttributes,omitempty"` // JSON
	CustomAuth        bool   `json:"customAuth,omitempty"`       // signed in by a custom token
	PasswordHash      string `json:"passwordHash,omitempty"`
	Salt              string `json:"salt,omitempty"`
	PasswordUpdatedAt int64  `json:"passwordUpdatedAt,omitempty"` // ms
	ValidSince        int64  `json:"validSince,string,omitempty"` // s; older tokens are void
	CreatedAt         int64  `json:"createdAt,string,omitempty"`  // ms
	LastLoginAt       int64  `json:"lastLoginAt,string,omitempty"`
	LastRefreshAt     string `json:"lastRefreshAt,omitempty"` // RFC 3339
}

// providerInfo tells of one way in which a user can sign in.
type providerInfo struct {
	ProviderID  string `json:"providerId"`
	Email       string `json:"email,omitempty"`
	FederatedID string `json:"federatedId,omitempty"`
	RawID       string `json:"rawId,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	PhotoURL    string `json:"photoUrl,omitempty"`
}

// userInfo is an account as it is told to clients.
type userInfo struct {
	account
	ProviderUserInfo []providerInfo `json:"providerUserInfo,omitempty"`
}

func (a account) info() userInfo { return userInfo{account: a, ProviderUserInfo: a.providers()} }

func (a account) providers() []providerInfo {
	if a.Email == "" || a.PasswordHash == "" {
		return nil
	}
	return []providerInfo{{
		ProviderID: providerPassword, Email: a.Email, FederatedID: a.Email, RawID: a.Email,
		DisplayName: a.DisplayName, PhotoURL: a.PhotoURL,
	}}
}

// setPassword makes earlier tokens void.
func (a *account) setPassword(password string, now time.Time) error {
	if len(password) < minPassword {
		return refuse("WEAK_PASSWORD : Password should be at least " + strconv.Itoa(minPassword) + " characters")
	}
	a.Salt = rand.Text()
	a.PasswordHash = hash(password, a.Salt)
	a.PasswordUpdatedAt = now.UnixMilli()
	a.ValidSince = now.Unix()
	return nil
}

func (a account) hasPassword(password string) bool {
	return a.PasswordHash != "" && a.PasswordHash == hash(password, a.Salt)
}

// hash only keeps passwords out of plain sight: these accounts are made up.
func hash(password, salt string) string {
	sum := sha256.Sum256([]byte(salt + "\x00" + password))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// canonicalEmail refuses what is no address.
func canonicalEmail(email string) (string, error) {
	name, domain, ok := strings.Cut(email, "@")
	if !ok || name == "" || domain == "" || strings.Contains(domain, "@") {
		return "", refuse("INVALID_EMAIL")
	}
	return strings.ToLower(email), nil
}

// newLocalID is 28 letters and digits, as long as production's.
func newLocalID() string { return (rand.Text() + rand.Text())[:28] }
