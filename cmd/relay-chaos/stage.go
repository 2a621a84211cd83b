package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// project is the one of every run's cloud.
const project = "relay-chaos"

// stage is what a run happens on: a fresh cloud, the broker in front of its
// Pub/Sub, relays behind proxies, and clients of the run's own past all of them.
type stage struct {
	opts      options
	dir       string // of logs and the catalog
	progress  io.Writer
	catalog   *contracts.Catalog
	cloud     *rig.Cloud
	clients   *rig.Clients
	truth     *truth
	broker    *broker
	switches  rig.Switches
	fleet     *fleet
	consumers *consumers
	operator  *operator
	leases    *leaseWatch
	campaign  *campaign

	mu       sync.Mutex
	badStops []string // what relays said that ended badly when they were told to
}

// openStage starts everything but the traffic. The caller calls close.
func openStage(ctx context.Context, o options, progress io.Writer) (*stage, error) {
	s := &stage{opts: o, progress: progress, truth: newTruth()}
	s.campaign = &campaign{stage: s}
	s.leases = &leaseWatch{stage: s, owners: map[taking][]string{}}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open stage: %w", err), s.close())
	}
	return s, nil
}

func (s *stage) open(ctx context.Context) error {
	var err error
	if s.dir, err = os.MkdirTemp("", "relay-chaos-"); err != nil {
		return err
	}
	if s.catalog, err = chaosCatalog(); err != nil {
		return err
	}
	catalogPath, err := rig.WriteCatalog(s.catalog, s.dir)
	if err != nil {
		return err
	}
	relay, err := rig.Relay(ctx, s.opts.relay, s.dir, s.say)
	if err != nil {
		return err
	}
	if s.cloud, err = rig.StartCloud(ctx, s.opts.cloud, relay, catalogPath); err != nil {
		return err
	}
	s.switches = s.cloud.Switches()
	if s.clients, err = s.cloud.Connect(ctx, project, s.catalog.Topics()); err != nil {
		return err
	}
	if s.consumers, err = subscribe(ctx, s.clients.Messages, s.catalog.Topics()); err != nil {
		return err
	}
	if s.broker, err = startBroker(s.cloud.PubSub, s.truth); err != nil {
		return err
	}
	s.fleet = &fleet{
		path: relay, args: serveArgs(s.opts), catalog: catalogPath, logs: s.dir, env: []string{"GOOGLE_CLOUD_PROJECT=" + project, "AUTH_MODE=dev"},
		upstream: map[part]string{partFirestore: s.cloud.Firestore, partPubSub: s.broker.Addr},
		claimed:  map[*member]bool{}, down: map[part]bool{},
	}
	s.operator = &operator{fleet: s.fleet, seed: s.opts.seed, released: map[string]bool{}}
	for range s.opts.relays {
		if err := s.fleet.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serveArgs runs a relay whose intervals are as short, next to a term of its
// leases, as the defaults are next to theirs.
func serveArgs(o options) []string {
	return []string{
		"serve", "--lease-term", o.leaseTerm.String(),
		"--canary-interval", "4s", "--silence-bound", "2s", "--sweep-interval", "6s", "--sweep-age", "6s",
	}
}

// close ends everything, in the order in which it leans on each other.
func (s *stage) close() error {
	var errs []error
	if s.fleet != nil {
		errs = append(errs, s.fleet.stopAll())
	}
	if s.broker != nil {
		errs = append(errs, s.broker.Close())
	}
	if s.clients != nil {
		errs = append(errs, s.clients.Close())
	}
	if s.cloud != nil {
		errs = append(errs, s.cloud.Stop())
	}
	return errors.Join(errs...)
}

// takenOver is the moment from which the relays ought to get over the loss of
// one: at once when there are others, else from now, when it is back.
func (s *stage) takenOver(lost time.Time) time.Time {
	if s.opts.relays > 1 {
		return lost
	}
	return time.Now()
}

// noteStop keeps what went wrong with a relay that was told to end.
func (s *stage) noteStop(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.badStops = append(s.badStops, err.Error())
}

// say reports progress.
func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.progress, "%s "+format+"\n", append([]any{clock(time.Now())}, args...)...)
}
