package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"outboxrelay/deploy/local/google"
)

// emulator is a running emulator.
type emulator interface {
	Addr() string
	Exited() <-chan struct{}
	Err() error
	Stop() error
}

// pair is both emulators.
type pair struct {
	firestore, pubsub emulator
}

// bind returns a context that ends with ctx, or when either emulator does. The
// goroutine behind it ends when the returned function is called.
func (p *pair) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.firestore.Exited():
		case <-p.pubsub.Exited():
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}

// failed is what ended an emulator that nobody has stopped.
func (p *pair) failed() error {
	return errors.Join(p.firestore.Err(), p.pubsub.Err())
}

func (p *pair) stop() error {
	return errors.Join(p.firestore.Stop(), p.pubsub.Stop())
}

// testVars are the variables that tests and benches read, as NAME=VALUE.
func (p *pair) testVars() []string {
	return []string{
		google.FirestoreVar + "=" + p.firestore.Addr(),
		google.PubSubVar + "=" + p.pubsub.Addr(),
	}
}

// clientVars are the variables that Google's clients obey, as NAME=VALUE.
func (p *pair) clientVars() []string {
	return []string{
		google.FirestoreClientVar + "=" + p.firestore.Addr(),
		google.PubSubClientVar + "=" + p.pubsub.Addr(),
	}
}

// environment is base with the emulators' variables. The clients' own are taken
// out of it unless asked for, so that no client reaches an emulator by accident.
func environment(base []string, p *pair, clientEnv bool) []string {
	ours := []string{google.FirestoreVar, google.PubSubVar, google.FirestoreClientVar, google.PubSubClientVar}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ours, name)
	})
	env = append(env, p.testVars()...)
	if clientEnv {
		env = append(env, p.clientVars()...)
	}
	return env
}
