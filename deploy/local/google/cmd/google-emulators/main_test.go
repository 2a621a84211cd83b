package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"outboxrelay/deploy/local/google"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRunCommand(t *testing.T) {
	tests := []struct {
		name     string
		args     []string
		wantCode int
		wantOut  string
		wantErr  string // part of standard error
	}{{
		name: "passes on what the command prints", args: []string{"--", "echo", "a", "-v"}, wantOut: "a -v\n",
	}, {
		name: "exits with its code", args: []string{"--", "sh", "-c", "exit 7"}, wantCode: 7,
	}, {
		name: "a command killed by a signal fails", args: []string{"--", "sh", "-c", "kill -KILL $$"}, wantCode: 1,
		wantErr: "signal: killed",
	}, {
		name: "a command that is not there fails", args: []string{"--", "/no/such/command"}, wantCode: 1,
		wantErr: "run /no/such/command",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			firestore, pubsub, auth := newFake("f:1"), newFake("p:2"), newFake("a:3")
			var out, errs bytes.Buffer
			code := run(t.Context(), tt.args, streams{out: &out, err: &errs}, starts(firestore, pubsub, auth))
			if code != tt.wantCode {
				t.Errorf("code = %d, want %d", code, tt.wantCode)
			}
			if diff := cmp.Diff(tt.wantOut, out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if !strings.Contains(errs.String(), tt.wantErr) {
				t.Errorf("errors = %q, want %q in them", errs.String(), tt.wantErr)
			}
			if !firestore.stopped() || !pubsub.stopped() || !auth.stopped() {
				t.Error("an emulator was left running")
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	tests := []struct {
		name     string
		args     []string
		start    starter
		wantCode int
		wantErr  string
	}{{
		name: "an unknown flag", args: []string{"-nope"}, start: starts(newFake(""), newFake(""), newFake("")), wantCode: exitUsage,
		wantErr: "flag provided but not defined: -nope",
	}, {
		name: "without emulators", wantCode: exitFail, wantErr: "not installed",
		start: func(context.Context, io.Writer) (*suite, error) { return nil, errors.New("not installed") },
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var errs bytes.Buffer
			code := run(t.Context(), tt.args, streams{out: io.Discard, err: &errs}, tt.start)
			if code != tt.wantCode || !strings.Contains(errs.String(), tt.wantErr) {
				t.Errorf("code %d, errors %q; want %d, %q", code, errs.String(), tt.wantCode, tt.wantErr)
			}
		})
	}
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	firestore, pubsub, auth := newFake("127.0.0.1:1"), newFake("127.0.0.1:2"), newFake("127.0.0.1:3")
	lines := &awaited{lines: 6, seen: cancel}
	code := run(ctx, nil, streams{out: lines, err: io.Discard}, starts(firestore, pubsub, auth))
	if code != exitOK {
		t.Errorf("code = %d, want 0", code)
	}
	want := `export OUTBOX_RELAY_GOOGLE_FIRESTORE=127.0.0.1:1
export OUTBOX_RELAY_GOOGLE_PUBSUB=127.0.0.1:2
export OUTBOX_RELAY_GOOGLE_AUTH=127.0.0.1:3
export FIRESTORE_EMULATOR_HOST=127.0.0.1:1
export PUBSUB_EMULATOR_HOST=127.0.0.1:2
export FIREBASE_AUTH_EMULATOR_HOST=127.0.0.1:3
`
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if !firestore.stopped() || !pubsub.stopped() || !auth.stopped() {
		t.Error("an emulator was left running")
	}
}

func TestRunWithoutAuth(t *testing.T) {
	firestore, pubsub := newFake("f:1"), newFake("p:2")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"--", "sh", "-c", "env"}, streams{out: &out, err: &errs},
		func(context.Context, io.Writer) (*suite, error) {
			s, err := starts(firestore, pubsub, nil)(t.Context(), nil)
			s.missing = google.ErrNoFirebaseTools
			return s, err
		})
	if code != exitOK || !strings.Contains(errs.String(), "without the Auth emulator: firebase-tools is not installed") {
		t.Errorf("code %d, errors %q; want 0, and what is missing", code, errs.String())
	}
	if got := out.String(); strings.Contains(got, google.AuthVar) || !strings.Contains(got, google.PubSubVar+"=p:2\n") {
		t.Errorf("environment has %s, or not %s:\n%s", google.AuthVar, google.PubSubVar, got)
	}
}

func TestRunInterruptsTheCommand(t *testing.T) {
	tests := []struct {
		name    string
		cut     func(cancel context.CancelFunc, auth *fake)
		wantErr string
	}{{
		name: "when its context ends", cut: func(cancel context.CancelFunc, _ *fake) { cancel() },
	}, {
		name: "when an emulator ends", cut: func(_ context.CancelFunc, auth *fake) { auth.die() },
		wantErr: "emulator died",
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			firestore, pubsub, auth := newFake(""), newFake(""), newFake("")
			running := &awaited{lines: 1, seen: func() { tt.cut(cancel, auth) }}
			var errs bytes.Buffer
			// The shell waits for a child of its own, which the interrupt must reach too.
			code := run(ctx, []string{"--", "sh", "-c", "echo running; sleep 600; exit 0"},
				streams{out: running, err: &errs}, starts(firestore, pubsub, auth))
			if code == exitOK {
				t.Error("code = 0, want a failure")
			}
			if !strings.Contains(errs.String(), tt.wantErr) {
				t.Errorf("errors = %q, want %q in them", errs.String(), tt.wantErr)
			}
			if !firestore.stopped() {
				t.Error("an emulator was left running")
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	base := []string{
		"HOME=/h", "PUBSUB_EMULATOR_HOST=stale:1", "FIRESTORE_EMULATOR_HOST=stale:2", "FIREBASE_AUTH_EMULATOR_HOST=stale:3",
		google.AuthVar + "=stale:4",
	}
	all, _ := starts(newFake("f:1"), newFake("p:2"), newFake("a:3"))(t.Context(), nil)
	noAuth, _ := starts(newFake("f:1"), newFake("p:2"), nil)(t.Context(), nil)
	tests := []struct {
		name      string
		suite     *suite
		clientEnv bool
		want      []string
	}{{
		name: "for tests alone", suite: all,
		want: []string{"HOME=/h", google.FirestoreVar + "=f:1", google.PubSubVar + "=p:2", google.AuthVar + "=a:3"},
	}, {
		name: "for Google's clients too", suite: all, clientEnv: true,
		want: []string{
			"HOME=/h", google.FirestoreVar + "=f:1", google.PubSubVar + "=p:2", google.AuthVar + "=a:3",
			google.FirestoreClientVar + "=f:1", google.PubSubClientVar + "=p:2", google.AuthClientVar + "=a:3",
		},
	}, {
		name: "without Auth", suite: noAuth,
		want: []string{"HOME=/h", google.FirestoreVar + "=f:1", google.PubSubVar + "=p:2"},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, environment(base, tt.suite, tt.clientEnv)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunOnGoogle(t *testing.T) {
	if os.Getenv(google.FirestoreVar) == "" || os.Getenv(google.PubSubVar) == "" {
		t.Skipf("%s or %s is unset: Google's emulators are not asked for", google.FirestoreVar, google.PubSubVar)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"-v", "--", "sh", "-c", "echo $" + google.PubSubVar + "; exit 7"},
		streams{out: &out, err: &errs}, startOnGoogle)
	if code != 7 {
		t.Errorf("code = %d, want 7: %s", code, errs.String())
	}
	if got := out.String(); !strings.HasPrefix(got, "127.0.0.1:") || strings.TrimSpace(got) == os.Getenv(google.PubSubVar) {
		t.Errorf("the command saw %q, want a Pub/Sub emulator of its own", got)
	}
}

// fake is an emulator that runs until it is stopped or dies.
type fake struct {
	addr   string
	exited chan struct{}

	mu  sync.Mutex
	err error
}

func newFake(addr string) *fake { return &fake{addr: addr, exited: make(chan struct{})} }

func (f *fake) Addr() string            { return f.addr }
func (f *fake) Exited() <-chan struct{} { return f.exited }
func (f *fake) die()                    { f.end(errors.New("emulator died")) }

func (f *fake) Stop() error {
	f.end(errors.New("stopped"))
	return nil
}

func (f *fake) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *fake) stopped() bool { return f.Err() != nil }

func (f *fake) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		close(f.exited)
	}
}

// starts starts fakes; nil leaves Auth out.
func starts(firestore, pubsub, auth *fake) starter {
	return func(context.Context, io.Writer) (*suite, error) {
		s := &suite{parts: []part{
			{emulator: firestore, testVar: google.FirestoreVar, clientVar: google.FirestoreClientVar},
			{emulator: pubsub, testVar: google.PubSubVar, clientVar: google.PubSubClientVar},
		}}
		if auth != nil {
			s.parts = append(s.parts, part{emulator: auth, testVar: google.AuthVar, clientVar: google.AuthClientVar})
		}
		return s, nil
	}
}

// awaited is a writer that calls seen once it holds so many lines.
type awaited struct {
	lines int
	seen  func()

	got bytes.Buffer // not embedded: its ReadFrom would pass Write by
}

func (a *awaited) String() string { return a.got.String() }

func (a *awaited) Write(b []byte) (int, error) {
	n, err := a.got.Write(b)
	if a.seen != nil && bytes.Count(a.got.Bytes(), []byte("\n")) >= a.lines {
		a.seen()
		a.seen = nil
	}
	return n, err
}
