package console

import (
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/admin/auth"
)

// Prefix is the path below which the console answers. The handler expects to see
// it: it is mounted without stripping anything.
const Prefix = "/console"

// Config is what the console is made of.
type Config struct {
	API           http.Handler       // the admin API, which answers every question and takes every decision
	Authenticator auth.Authenticator // the same that the API has
	Mode          auth.Mode          // in ModeDev the visitor picks an identity
	Catalog       *contracts.Catalog
	Changes       Changes // tells of what changed; nil: pages do not follow by themselves
	// Status is how this instance does, of which the console keeps the last ten
	// minutes; nil: it knows none.
	Status      admin.Status
	SampleEvery time.Duration // 0: 5 s
	Bells       Bells         // nil: there is no page of notifications

	Log *zap.Logger // nil: none
}

// Validate says all that is missing.
func (c Config) Validate() error {
	var faults []error
	need := func(there bool, what string) {
		if !there {
			faults = append(faults, errors.New(what+" is required"))
		}
	}
	need(c.API != nil, "admin API")
	need(c.Authenticator != nil, "authenticator")
	need(c.Catalog != nil, "catalog")
	return errors.Join(faults...)
}
