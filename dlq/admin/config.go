package admin

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin/auth"
)

// Config is what the API is made of.
type Config struct {
	Letters       Letters
	Replays       Replays
	Freezes       Freezes
	Lanes         Lanes
	History       History
	Queues        Queues             // nil: there are none
	Catalog       *contracts.Catalog // tells which events ask for two persons
	Status        Status
	Authenticator auth.Authenticator

	Log        *zap.Logger           // nil: none
	Registerer prometheus.Registerer // nil: no metrics are registered
	Now        func() time.Time      // nil: time.Now
	Timeout    time.Duration         // of one request; 0: 15 s
	// RatePerSecond and Burst bound the requests of one identity; 0: 50 and 200, so that
	// a script may work through a page of dead letters without pauses.
	RatePerSecond float64
	Burst         int
}

// Validate says all that is missing or wrong.
func (c Config) Validate() error {
	var faults []error
	need := func(there bool, what string) {
		if !there {
			faults = append(faults, errors.New(what+" is required"))
		}
	}
	need(c.Letters != nil, "letters")
	need(c.Replays != nil, "replays")
	need(c.Freezes != nil, "freezes")
	need(c.Lanes != nil, "lanes")
	need(c.History != nil, "history")
	need(c.Catalog != nil, "catalog")
	need(c.Status != nil, "status")
	need(c.Authenticator != nil, "authenticator")
	if c.Timeout < 0 || c.RatePerSecond < 0 || c.Burst < 0 {
		faults = append(faults, errors.New("timeout, rate and burst cannot be negative"))
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.RatePerSecond == 0 {
		c.RatePerSecond = 50
	}
	if c.Burst == 0 {
		c.Burst = 200
	}
	return c
}
