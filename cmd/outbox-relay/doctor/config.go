package doctor

import (
	"context"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/contracts"
	"outboxrelay/dlq/admin/auth"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// DefaultTimeout bounds a whole examination.
const DefaultTimeout = time.Minute

// Config is what the service would be started with, and where to look. What is
// wrong with it becomes a finding wherever that is possible.
type Config struct {
	Project, Database string
	// Emulators in the place of Google's services, HOST:PORT; "": Google's own.
	Firestore, PubSub, Auth string

	// OpenFirestore and OpenPubSub connect as the service does.
	OpenFirestore func(context.Context) (*dlqfirestore.Client, error)
	OpenPubSub    func(context.Context) (*pubsub.Client, error)

	// Catalog loads the catalog as the service does, stand-ins applied.
	Catalog     func() (*contracts.Catalog, error)
	CatalogFile string // as it was given; "": the built-in one
	// Flags lead a command of this program to the same project and catalog.
	Flags []string
	// Handler is the target that sets claims. It needs Firebase Auth where the
	// catalog has it as a handler.
	Handler      string
	EnsureTopics bool

	// Refusals are what else serve would refuse to start with.
	Refusals   []error
	Access     auth.Config // who may use the admin API
	Host       string
	StopBudget time.Duration
	LeaseTerm  time.Duration
	Env        func(name string) string // the environment that the service would see

	// Version and Commit are this program's.
	Version, Commit string

	// Service leads to a running one; nil: there is none to look at.
	Service *adminapi.Config

	Offline bool          // look at what needs nobody's answer alone
	Timeout time.Duration // of the whole; 0: DefaultTimeout
	Now     func() time.Time

	// AdminOptions and ResourceOptions lead to Firestore's Admin API and to the
	// Resource Manager in a test. nil: Google's own, or nowhere beside emulators.
	AdminOptions, ResourceOptions []option.ClientOption
}

// emulators lists the emulators as their variables.
func (c *Config) emulators() []string {
	out := []string{}
	for _, e := range []struct{ name, addr string }{
		{"FIRESTORE_EMULATOR_HOST", c.Firestore}, {"PUBSUB_EMULATOR_HOST", c.PubSub}, {"FIREBASE_AUTH_EMULATOR_HOST", c.Auth},
	} {
		if e.addr != "" {
			out = append(out, e.name+"="+e.addr)
		}
	}
	return out
}
