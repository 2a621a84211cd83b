// Package local joins the embedded Firestore, Pub/Sub and Auth into one cloud, which
// runs the product on one machine and its tests without anything installed. It
// is a convenience: Google's own emulators are the judge of what is right.
package local

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"go.uber.org/zap"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local/auth"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/pubsub"
)

// anyPort is loopback, on any free port.
const anyPort = "127.0.0.1:0"

// authDir is where Auth keeps its accounts, below the data directory.
const authDir = "auth"

// Options say where a cloud listens and what it starts with. The zero value is
// one in memory on free loopback ports.
type Options struct {
	Firestore string // HOST:PORT; "": loopback, any free port
	PubSub    string // likewise
	Auth      string // likewise
	DataDir   string // keeps Firestore's documents and Auth's accounts; "": in memory. Pub/Sub is always in memory

	// Project and Topics name the topics that exist from the start. Without a
	// project there are none.
	Project string
	Topics  []string

	// Indexes are Firestore's; nil: those of the built-in catalog. A query that
	// needs another is refused.
	Indexes *indexes.File
	Log     *zap.Logger // nil: silent
}

// Cloud is an embedded cloud that serves until Close.
type Cloud struct {
	Firestore     *firestore.Server
	PubSub        *pubsub.Server
	Auth          *auth.Server
	FirestoreAddr string // HOST:PORT for clients
	PubSubAddr    string
	AuthAddr      string
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
		DataDir: opts.DataDir, Indexes: opts.Indexes, Log: opts.Log.Named("firestore"),
	})
	if err != nil {
		return err
	}
	if c.PubSub, err = pubsub.Open(pubsub.Options{Log: opts.Log.Named("pubsub")}); err != nil {
		return err
	}
	if c.Auth, err = auth.Open(auth.Options{DataDir: below(opts.DataDir, authDir), Log: opts.Log.Named("auth")}); err != nil {
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
	if c.PubSubAddr, err = c.PubSub.Start(orAnyPort(opts.PubSub)); err != nil {
		return err
	}
	c.AuthAddr, err = c.Auth.Start(orAnyPort(opts.Auth))
	return err
}

// below names a directory within dir; "" stays "", which is memory.
func below(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
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
		"FIREBASE_AUTH_EMULATOR_HOST=" + c.AuthAddr,
	}
}

// AdminHandler serves the fault switches and figures of the parts, under
// /firestore/, /pubsub/ and /auth/, and Firestore's bill under /billing as well. It asks
// for no authentication: whoever serves it keeps it on a loopback address.
func (c *Cloud) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/firestore/", http.StripPrefix("/firestore", c.Firestore.AdminHandler()))
	mux.Handle("/pubsub/", http.StripPrefix("/pubsub", c.PubSub.AdminHandler()))
	mux.Handle("/auth/", http.StripPrefix("/auth", c.Auth.AdminHandler()))
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
	if c.Auth != nil {
		errs = append(errs, c.Auth.Close())
	}
	return errors.Join(errs...)
}
