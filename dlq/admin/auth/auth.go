package auth

import (
	"net/http"

	"outboxrelay/dlq"
)

// Identity is who asks.
type Identity struct {
	Name string // an email address in lower case, or a development identity
	Role dlq.Role
}

// Actor is the identity as the dead-letter queue knows it.
func (i Identity) Actor() dlq.Actor { return dlq.Actor{Name: i.Name, Role: i.Role} }

// Authenticator finds out who asks.
type Authenticator interface {
	// Authenticate returns an identity that has a role. Any error is a *Refusal.
	Authenticate(*http.Request) (Identity, error)
}

// New makes the authenticator of a mode. It reads the roles file and refuses one
// with faults. Keys are fetched when the first token comes.
func New(c Config) (Authenticator, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	switch c.Mode {
	case ModeOff:
		return off{}, nil
	case ModeDev:
		return newDev(), nil
	}
	roles, err := openRoles(c.RolesFile, c.Now, c.Log)
	if err != nil {
		return nil, err
	}
	signed := &signed{roles: roles}
	if c.Mode == ModeIAP {
		signed.credential, signed.challenge = assertion, iapChallenge
		signed.verifier = newVerifier(c, iapTokens)
	} else {
		signed.credential, signed.challenge = bearer, bearerChallenge
		signed.verifier = newVerifier(c, googleTokens)
	}
	return signed, nil
}

// off refuses everybody.
type off struct{}

func (off) Authenticate(*http.Request) (Identity, error) {
	return Identity{}, &Refusal{
		Kind: Off, Code: "off", Detail: "the admin API is off: set AUTH_MODE",
		Hint: "start the service with AUTH_MODE oidc or iap; dev is for a service on loopback",
	}
}

// signed takes who it is from a signed token, and the role from the file.
type signed struct {
	credential func(*http.Request) (string, *Refusal)
	challenge  string
	verifier   *verifier
	roles      *roles
}

func (s *signed) Authenticate(r *http.Request) (Identity, error) {
	token, refusal := s.credential(r)
	var email string
	if refusal == nil {
		email, refusal = s.verifier.email(r.Context(), token)
	}
	if refusal != nil {
		if refusal.Kind == Unauthenticated {
			refusal.Challenge = s.challenge
		}
		return Identity{}, refusal
	}
	role := s.roles.of(email)
	if role == dlq.NoRole {
		return Identity{}, &Refusal{
			Kind: Forbidden, Code: "unknown_identity", Name: email, Detail: email + " has no role here",
			Hint: "ask whoever keeps the roles file of this service to add the address",
		}
	}
	return Identity{Name: email, Role: role}, nil
}
