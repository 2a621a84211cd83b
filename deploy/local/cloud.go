// Package local joins the embedded Firestore and Pub/Sub into one cloud, which
// runs the product on one machine and its tests without anything installed. It
// is a convenience: Google's own emulators are the judge of what is right.
package local

import (
	"errors"
	"fmt"
	"net/http"

	firestorepb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"go.uber.org/zap"

	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/pubsub"
)

// anyPort is loopback, on any free port.
const anyPort = "127.0.0.1:0"

// Options say where a cloud listens and what it starts with. The zero value is
// one in memory on free loopback ports.
type Options struct {
	Firestore string // HOST:PORT; "": loopback, any free port
	PubSub    string // likewise
	DataDir   string // keeps Firestore's documents; "": in memory. Pub/Sub is always in memory

	// Project and Topics name the topics that exist from the start. Without a
	// project there are none.
	Project string
	Topics  []string

	// RequireIndex refuses queries that lack their index; see firestore.Options.
	RequireIndex func(*firestorepb.StructuredQuery) error
	Log          *zap.Logger // nil: silent
}

// Cloud is an embedded cloud that serves until Close.
type Cloud struct {
	Firestore     *firestore.Server
	PubSub        *pubsub.Server
	FirestoreAddr string // HOST:PORT for clients
	PubSubAddr    string
}

// Start opens a cloud. What it opened before an error is closed again.
func Start(opts Options) (*Cloud, error) {
	c := &Cloud{}
	if err := c.start(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("start embedded cloud: %w", err), c.Close())
	}
	return c, nil
}

func (c *Cloud) start(opts Options) error {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	var err error
	c.Firestore, err = firestore.Open(firestore.Options{
		DataDir: opts.DataDir, RequireIndex: opts.RequireIndex, Log: opts.Log.Named("firestore"),
	})
	if err != nil {
		return err
	}
	if c.PubSub, err = pubsub.Open(pubsub.Options{Log: opts.Log.Named("pubsub")}); err != nil {
		return err
	}
	if opts.Project != "" {
		if err := c.PubSub.CreateTopics(opts.Project, opts.Topics); err != nil {
			return err
		}
	}
	if c.FirestoreAddr, err = c.Firestore.Start(orAnyPort(opts.Firestore)); err != nil {
		return err
	}
	c.PubSubAddr, err = c.PubSub.Start(orAnyPort(opts.PubSub))
	return err
}

func orAnyPort(addr string) string {
	if addr == "" {
		return anyPort
	}
	return addr
}

// Env is the environment that leads Google's clients to the cloud, one
// NAME=value each.
func (c *Cloud) Env() []string {
	return []string{
		"FIRESTORE_EMULATOR_HOST=" + c.FirestoreAddr,
		"PUBSUB_EMULATOR_HOST=" + c.PubSubAddr,
	}
}

// AdminHandler serves the fault switches and figures of the parts, under
// /firestore/ and /pubsub/, and Firestore's bill under /billing as well. It asks
// for no authentication: whoever serves it keeps it on a loopback address.
func (c *Cloud) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/firestore/", http.StripPrefix("/firestore", c.Firestore.AdminHandler()))
	mux.Handle("/pubsub/", http.StripPrefix("/pubsub", c.PubSub.AdminHandler()))
	mux.Handle("GET /billing", c.Firestore.AdminHandler())
	// A page of another site must not be able to switch faults on.
	return http.NewCrossOriginProtection().Handler(mux)
}

// Close ends all parts and, with a data directory, leaves it complete.
func (c *Cloud) Close() error {
	var errs []error
	if c.Firestore != nil {
		errs = append(errs, c.Firestore.Close())
	}
	if c.PubSub != nil {
		errs = append(errs, c.PubSub.Close())
	}
	return errors.Join(errs...)
}
