package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/relay/lease"
)

// leaseFlags are how an instance shares the outboxes with others.
type leaseFlags struct {
	LeaseTerm time.Duration `env:"LEASE_TERM" default:"${leaseTerm}" help:"How long an outbox stays with an instance that died: until then nobody else takes it. Renewed every third of it."`
	Instance  string        `env:"INSTANCE" placeholder:"NAME" help:"Name of this process among the instances; default: its revision or host, and a random part."`
}

// minLeaseTerm is the least that package lease takes.
const minLeaseTerm = time.Second

// Validate names what is out of range.
func (f leaseFlags) Validate() error {
	if f.LeaseTerm < minLeaseTerm {
		return fmt.Errorf("--lease-term is %v, want at least %v", f.LeaseTerm, minLeaseTerm)
	}
	return nil
}

// instance names this process. The random part tells restarts apart.
func (f leaseFlags) instance(env shell.Lookup) string {
	if f.Instance != "" {
		return f.Instance
	}
	name := env.Get("K_REVISION") // Cloud Run's, whose hosts are all named alike
	if name == "" {
		name, _ = os.Hostname()
	}
	if name == "" {
		name = "relay"
	}
	return fmt.Sprintf("%s-%06x", name, rand.Uint32N(1<<24))
}

var leaseTermDefault = lease.DefaultTerm.String()
