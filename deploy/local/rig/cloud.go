package rig

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"outboxrelay/deploy/local/child"
	"outboxrelay/deploy/local/google"
)

// The kinds of cloud.
const (
	CloudEmbedded = "embedded"
	CloudGoogle   = "google" // Google's emulators
)

// Cloud is a running Firestore and Pub/Sub, empty when it starts. Its owner
// calls Stop.
type Cloud struct {
	Firestore, PubSub string // HOST:PORT
	Admin             string // HOST:PORT of the fault switches and the bill; "": there are none
	// PullEvery is how often subscriptions are read: often enough for the cloud
	// to keep going, and rarely enough not to load it.
	PullEvery time.Duration
	Stop      func() error
}

// Env leads a child's Google clients to the cloud.
func (c *Cloud) Env() []string {
	return []string{google.FirestoreClientVar + "=" + c.Firestore, google.PubSubClientVar + "=" + c.PubSub}
}

// StartCloud starts a cloud of that kind. The embedded one is that of the
// relay's binary at relayPath, and has the indexes of the catalog at catalogPath.
// Another that this process's environment names is forgotten: clients would obey
// that before the address that they are given.
func StartCloud(ctx context.Context, kind, relayPath, catalogPath string) (*Cloud, error) {
	for _, name := range []string{google.FirestoreClientVar, google.PubSubClientVar} {
		_ = os.Unsetenv(name) // fails only for an invalid name
	}
	if kind == CloudGoogle {
		return startGoogle(ctx)
	}
	return startEmbedded(ctx, relayPath, catalogPath)
}

func startGoogle(ctx context.Context) (*Cloud, error) {
	fs, err := google.StartFirestore(ctx, nil)
	if err != nil {
		return nil, err
	}
	ps, err := google.StartPubSub(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, fs.Stop())
	}
	return &Cloud{
		Firestore: fs.Addr(), PubSub: ps.Addr(),
		PullEvery: 250 * time.Millisecond,
		Stop:      func() error { return errors.Join(fs.Stop(), ps.Stop()) },
	}, nil
}

// adminVar is printed beside the clients' variables when the cloud takes clients.
const adminVar = "ADMIN"

func startEmbedded(ctx context.Context, relayPath, catalogPath string) (*Cloud, error) {
	const anyPort = "127.0.0.1:0"
	out, lines := io.Pipe()
	server, err := child.Start(child.Spec{
		Name: "embedded cloud", Path: relayPath, Stdout: lines,
		Args: []string{
			"cloud", "--firestore", anyPort, "--pubsub", anyPort, "--auth", anyPort, "--admin", anyPort, "--catalog", catalogPath, "--log-level", "warn",
		},
	})
	if err != nil {
		return nil, err
	}
	vars := make(chan map[string]string, 1)
	go func() { // ends when the child has ended, which closes the pipe
		vars <- readVars(out, google.FirestoreClientVar, google.PubSubClientVar, adminVar)
		_, _ = io.Copy(io.Discard, out) // a pipe has nothing to fail with
	}()
	go func() {
		<-server.Exited()
		_ = lines.Close() // never fails
	}()
	select {
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), server.Stop())
	case v := <-vars:
		if err := server.Ended(); err != nil {
			return nil, err
		}
		return &Cloud{
			Firestore: v[google.FirestoreClientVar], PubSub: v[google.PubSubClientVar], Admin: v[adminVar],
			// It clears its messages only at a moment when all are acknowledged,
			// and holds publishes back until then: subscriptions must keep up.
			PullEvery: 20 * time.Millisecond,
			Stop:      server.Stop,
		}, nil
	}
}

// readVars reads NAME=VALUE lines until it has all names, or to the end.
func readVars(in io.Reader, names ...string) map[string]string {
	vars := map[string]string{}
	for lines := bufio.NewScanner(in); len(vars) < len(names) && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		for _, wanted := range names {
			if name == wanted {
				vars[name] = value
			}
		}
	}
	return vars
}
