package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/google"
)

// cloud is a running Firestore and Pub/Sub, empty when it starts.
type cloud struct {
	firestore, pubsub string // HOST:PORT
	admin             string // HOST:PORT of the bill; "": there is none
	// pullEvery is how often subscriptions are read while a latency is measured.
	pullEvery time.Duration
	stop      func() error
}

// env leads a child's Google clients to the cloud.
func (c *cloud) env() []string {
	return []string{google.FirestoreClientVar + "=" + c.firestore, google.PubSubClientVar + "=" + c.pubsub}
}

func (b *bench) startCloud(ctx context.Context) (*cloud, error) {
	if b.opts.cloud == cloudGoogle {
		return startGoogle(ctx)
	}
	return startEmbedded(ctx, b.relayPath)
}

func startGoogle(ctx context.Context) (*cloud, error) {
	fs, err := google.StartFirestore(ctx, nil)
	if err != nil {
		return nil, err
	}
	ps, err := google.StartPubSub(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, fs.Stop())
	}
	return &cloud{
		firestore: fs.Addr(), pubsub: ps.Addr(),
		pullEvery: 250 * time.Millisecond,
		stop:      func() error { return errors.Join(fs.Stop(), ps.Stop()) },
	}, nil
}

// What the embedded cloud prints when it takes clients.
const adminVar = "ADMIN"

// startEmbedded runs the cloud of the relay's own binary.
func startEmbedded(ctx context.Context, relayPath string) (*cloud, error) {
	const anyPort = "127.0.0.1:0"
	out, lines := io.Pipe()
	server, err := startChild("embedded cloud", relayPath,
		[]string{"cloud", "--firestore", anyPort, "--pubsub", anyPort, "--admin", anyPort, "--log-level", "warn"}, nil, lines)
	if err != nil {
		return nil, err
	}
	vars := make(chan map[string]string, 1)
	go func() { // ends when the child has ended, which closes the pipe
		vars <- readVars(out, google.FirestoreClientVar, google.PubSubClientVar, adminVar)
		_, _ = io.Copy(io.Discard, out) // a pipe has nothing to fail with
	}()
	go func() {
		<-server.exited
		_ = lines.Close() // never fails
	}()
	select {
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), server.stop())
	case v := <-vars:
		if err := server.ended(); err != nil {
			return nil, err
		}
		return &cloud{
			firestore: v[google.FirestoreClientVar], pubsub: v[google.PubSubClientVar], admin: v[adminVar],
			// It clears its messages only at a moment when all are acknowledged,
			// and holds publishes back until then: subscriptions must keep up.
			pullEvery: 20 * time.Millisecond,
			stop:      server.stop,
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

// bill is what the cloud has billed so far for the outboxes alone.
func (c *cloud) bill(ctx context.Context, outboxes []string) (operations, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.admin+"/billing", nil)
	if err != nil {
		return operations{}, fmt.Errorf("read bill: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return operations{}, fmt.Errorf("read bill: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return operations{}, fmt.Errorf("read bill: answer is %s", resp.Status)
	}
	var billing firestore.Billing
	if err := json.NewDecoder(resp.Body).Decode(&billing); err != nil {
		return operations{}, fmt.Errorf("read bill: %w", err)
	}
	var sum operations
	for _, name := range outboxes {
		of := billing.Collections[name]
		sum = sum.plus(operations{reads: float64(of.Reads), writes: float64(of.Writes), deletes: float64(of.Deletes)})
	}
	return sum, nil
}
