package claims

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// DefaultTarget is the name that the catalog has for this handler.
const DefaultTarget = "CLAIMS_HANDLER"

// Config is what a Handler is made of. The ports and the catalog must be set.
type Config struct {
	Catalog *contracts.Catalog // says which events revoke tokens
	Target  string             // whose settings in the catalog are the handler's; "": DefaultTarget

	Store    Store
	Accounts Accounts
	Signals  Signals

	// Timeout bounds one record. Default 5 s: of the 10 s that Cloud Run gives a
	// stop, 8 are the relay's, and it settles behind its deliveries.
	Timeout time.Duration

	Log        *zap.Logger           // nil: silent
	Registerer prometheus.Registerer // nil: the metrics are not registered
}

// Validate names everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if c.Store == nil || c.Accounts == nil || c.Signals == nil {
		errs = append(errs, errors.New("store, accounts and signals must all be given"))
	}
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout is %v, want more than 0", c.Timeout))
	}
	if c.Catalog == nil {
		return errors.Join(append(errs, errors.New("the catalog is missing"))...)
	}
	spec, ok := c.Catalog.Targets[c.target()]
	switch {
	case !ok:
		errs = append(errs, fmt.Errorf("the catalog does not declare target %s", c.target()))
	case spec.Kind != contracts.KindHandler:
		errs = append(errs, fmt.Errorf("target %s is of kind %s, want %s", c.target(), spec.Kind, contracts.KindHandler))
	case !(spec.RatePerSecond > 0):
		errs = append(errs, fmt.Errorf("target %s: ratePerSecond is %v, want more than 0", c.target(), spec.RatePerSecond))
	}
	return errors.Join(errs...)
}

func (c Config) target() string {
	if c.Target == "" {
		return DefaultTarget
	}
	return c.Target
}

func (c Config) withDefaults() Config {
	c.Target = c.target()
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}
