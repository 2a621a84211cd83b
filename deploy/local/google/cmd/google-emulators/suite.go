package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"outboxrelay/deploy/local/google"
)

// emulator is a running emulator.
type emulator interface {
	Addr() string
	Exited() <-chan struct{}
	Err() error
	Stop() error
}

// part is one emulator, and the variables that lead to it.
type part struct {
	emulator
	testVar, clientVar string
}

// suite is all emulators that could be started.
type suite struct {
	parts []part
	// missing is why the Auth emulator is not among them; nil: it is.
	missing error
}

// startOnGoogle starts all emulators at once. Without firebase-tools it leaves Auth out.
func startOnGoogle(ctx context.Context, log io.Writer) (*suite, error) {
	s := &suite{parts: []part{
		{testVar: google.FirestoreVar, clientVar: google.FirestoreClientVar},
		{testVar: google.PubSubVar, clientVar: google.PubSubClientVar},
		{testVar: google.AuthVar, clientVar: google.AuthClientVar},
	}}
	starting, ctx := errgroup.WithContext(ctx)
	for i, start := range []func(context.Context, io.Writer) (*google.Emulator, error){
		google.StartFirestore, google.StartPubSub, google.StartAuth,
	} {
		starting.Go(func() error {
			e, err := start(ctx, log)
			if errors.Is(err, google.ErrNoFirebaseTools) {
				s.missing = err // by Auth alone
				return nil
			}
			if err == nil {
				s.parts[i].emulator = e
			}
			return err
		})
	}
	err := starting.Wait()
	s.parts = slices.DeleteFunc(s.parts, func(p part) bool { return p.emulator == nil })
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// bind returns a context that ends with ctx, or when any emulator does. The
// goroutines behind it end when the returned function is called.
func (s *suite) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	for _, p := range s.parts {
		go func() {
			select {
			case <-p.Exited():
			case <-ctx.Done():
			}
			cancel()
		}()
	}
	return ctx, cancel
}

// failed is what ended an emulator that nobody has stopped.
func (s *suite) failed() error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.Err())
	}
	return errors.Join(errs...)
}

func (s *suite) stop() error {
	var errs []error
	for _, p := range s.parts {
		errs = append(errs, p.Stop())
	}
	return errors.Join(errs...)
}

// testVars are the variables that tests and benches read, as NAME=VALUE.
func (s *suite) testVars() []string {
	var vars []string
	for _, p := range s.parts {
		vars = append(vars, p.testVar+"="+p.Addr())
	}
	return vars
}

// clientVars are the variables that Google's clients obey, as NAME=VALUE.
func (s *suite) clientVars() []string {
	var vars []string
	for _, p := range s.parts {
		vars = append(vars, p.clientVar+"="+p.Addr())
	}
	return vars
}

// environment is base with the emulators' variables. The clients' own are taken
// out of it unless asked for, so that no client reaches an emulator by accident.
// So are those of an emulator that is missing.
func environment(base []string, s *suite, clientEnv bool) []string {
	ours := []string{
		google.FirestoreVar, google.PubSubVar, google.AuthVar,
		google.FirestoreClientVar, google.PubSubClientVar, google.AuthClientVar,
	}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ours, name)
	})
	env = append(env, s.testVars()...)
	if clientEnv {
		env = append(env, s.clientVars()...)
	}
	return env
}
