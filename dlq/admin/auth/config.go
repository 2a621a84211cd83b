package auth

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// Mode is how a service finds out who asks.
type Mode string

// The modes.
const (
	ModeOff  Mode = ""     // everybody is turned away
	ModeOIDC Mode = "oidc" // Google ID tokens
	ModeIAP  Mode = "iap"  // the signed header of Identity-Aware Proxy
	ModeDev  Mode = "dev"  // static tokens, on loopback alone
)

// Modes lists the modes that can be asked for by name.
func Modes() []Mode { return []Mode{ModeOIDC, ModeIAP, ModeDev} }

// Config says how to find out who asks.
type Config struct {
	Mode Mode
	// Audience lists what a token may have been made for, each exact: for oidc
	// the client IDs or the service's URL, for iap what the proxy's page shows
	// ("/projects/NUMBER/...").
	Audience  []string
	RolesFile string // oidc and iap: a YAML file that maps identities to roles
	// ListenAddr is the HOST:PORT on which the service listens. Mode dev asks
	// that it is loopback.
	ListenAddr string

	Log       *zap.Logger       // nil: none
	Now       func() time.Time  // nil: time.Now
	Transport http.RoundTripper // fetches Google's keys; nil: http.DefaultTransport
}

// Validate says all that is missing or wrong.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	switch c.Mode {
	case ModeOff:
	case ModeDev:
		if err := CheckLoopback(c.ListenAddr); err != nil {
			fault("mode dev has tokens that everybody knows: %w", err)
		}
	case ModeOIDC, ModeIAP:
		if len(c.Audience) == 0 {
			fault("mode %s needs an audience: without one, a token made for any other service would do", c.Mode)
		}
		if slices.ContainsFunc(c.Audience, func(a string) bool { return a == "" || strings.ContainsAny(a, " \t\r\n") }) {
			fault("an audience is empty or holds spaces: %q", c.Audience)
		}
		if c.RolesFile == "" {
			fault("mode %s needs a roles file", c.Mode)
		}
	default:
		fault("mode %q is none of %v", c.Mode, Modes())
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("check authentication: %w", errors.Join(faults...))
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	return c
}
