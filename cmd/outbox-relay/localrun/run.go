// Package localrun runs everything on this machine: an embedded cloud, a service
// on it, and the demo around them. It shows the run as it goes, and judges it at
// the end.
package localrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/requirements"
	"outboxrelay/ier"
	"outboxrelay/relay"
)

// Project is the project of a local run. No Google project can have its
// name, as they are 30 letters at most.
const Project = "outbox-relay-local-demo-project"

// Service is a relay that serves its pages.
type Service interface {
	Health() relay.Health
	// Run relays and serves on lis until ctx ends, and closes the service.
	Run(ctx context.Context, lis net.Listener) error
	// Close gives back what a service took that was not run.
	Close() error
}

// Config is what a local run is made of.
type Config struct {
	Catalog *contracts.Catalog
	DataDir string       // "": in memory
	Outage  *demo.Outage // nil: none
	// Troubles are records that become dead letters.
	Troubles []*demo.Trouble
	Listener net.Listener // on loopback
	Log      *zap.Logger
	// OpenService makes a service on the cloud, whose target of claims is what wrap
	// makes of it. The run ends it.
	OpenService func(ctx context.Context, at gcp.Place, wrap func(ier.Target) ier.Target) (Service, error)

	Samples bool
	Work    bool    // samples for the work queues, which the service runs
	Rate    float64 // records a second; 0: as fast as it goes
	Records int64   // 0: until it is stopped
}

// Run is an embedded cloud, a service on it, and what the demo puts around
// them. Its parts are stopped one after another: producers, service, consumers.
type Run struct {
	Cloud *local.Cloud // the embedded one

	cfg     Config
	service Service
	docs    *firestore.Client
	topics  *pubsub.Client
	users   *demo.Auth
	queue   *demo.QueueWatch
	ledger  *demo.Ledger
	sample  *demo.Producers    // nil: none
	tenants *demo.Tenants      // whose work the queues do; nil: none
	apps    *demo.Clients      // of the accounts whose claims are set; nil: none are
	trouble *demo.Troublemaker // nil: none
	began   time.Time

	fail   context.CancelCauseFunc
	failed context.Context // ends when a part ends with an error
	// Parts; nil: not started.
	consuming, serving, producing, outing, troubling, counting, listening, tenanting *part
}

// Open opens everything. Start must follow, and Show.
func Open(ctx context.Context, cfg Config) (*Run, error) {
	l := &Run{cfg: cfg, ledger: demo.NewLedger(), began: time.Now()}
	l.failed, l.fail = context.WithCancelCause(context.Background())
	if err := l.open(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *Run) open(ctx context.Context) (err error) {
	declared := requirements.IndexesOf(l.cfg.Catalog) // those that a deployment would have
	l.Cloud, err = local.Start(local.Options{
		DataDir: l.cfg.DataDir, Project: Project, Topics: l.cfg.Catalog.Topics(), Indexes: &declared, Log: l.cfg.Log,
	})
	if err != nil {
		return err
	}
	at := gcp.Place{
		Project: Project, Database: firestore.DefaultDatabaseID,
		Firestore: l.Cloud.FirestoreAddr, PubSub: l.Cloud.PubSubAddr, Auth: l.Cloud.AuthAddr,
	}
	l.users = &demo.Auth{Addr: at.Auth, Project: Project, HTTP: &http.Client{Transport: &http.Transport{}}}
	docs, err := at.DialFirestore(ctx)
	if err != nil {
		return err
	}
	l.docs = docs.Client
	l.queue = &demo.QueueWatch{Docs: l.docs, Catalog: l.cfg.Catalog, Log: l.cfg.Log}
	if l.topics, err = at.DialPubSub(ctx); err != nil {
		return err
	}
	if l.cfg.Samples {
		if err := l.consumers().Subscribe(ctx); err != nil {
			return err
		}
		l.sample = &demo.Producers{
			Client: l.docs, Catalog: l.cfg.Catalog, Ledger: l.ledger,
			Rate: l.cfg.Rate, Records: l.cfg.Records, Seed: rand.Uint64(),
		}
	}
	if l.cfg.Work {
		l.tenants = &demo.Tenants{Client: l.docs, Every: tenantsEvery}
		if l.cfg.Records > 0 {
			l.tenants.Every, l.tenants.Count = 0, int(min(l.cfg.Records, tenantsCounted))
		}
	}
	if err := l.openAccounts(ctx); err != nil {
		return err
	}
	l.service, err = l.cfg.OpenService(ctx, at, l.witness)
	return err
}

// Start sets the parts going.
func (l *Run) Start(ctx context.Context) {
	l.serving = startPart(ctx, l.fail, func(ctx context.Context) error { return l.service.Run(ctx, l.cfg.Listener) })
	if l.cfg.Samples {
		l.consuming = startPart(ctx, l.fail, l.consumers().Run)
		l.producing = startPart(ctx, l.fail, l.sample.Run)
	}
	if l.tenants != nil {
		l.tenanting = startPart(ctx, l.fail, l.tenants.Run)
	}
	if l.apps != nil {
		l.listening = startPart(ctx, l.fail, l.apps.Run)
	}
	if l.cfg.Outage != nil {
		l.outing = startPart(ctx, l.fail, func(ctx context.Context) error { return l.cfg.Outage.Run(ctx, l.Cloud.PubSub.Faults()) })
	}
	if len(l.cfg.Troubles) > 0 {
		l.trouble = &demo.Troublemaker{Client: l.docs, Faults: l.Cloud.PubSub.Faults(), Auth: l.users, Ledger: l.ledger, Troubles: l.cfg.Troubles}
		l.troubling = startPart(ctx, l.fail, l.trouble.Run)
	}
	if len(l.cfg.Troubles) > 0 || !l.cfg.Samples {
		l.counting = startPart(ctx, l.fail, l.queue.Run)
	}
}

func (l *Run) consumers() *demo.Consumers {
	return &demo.Consumers{Client: l.topics, Catalog: l.cfg.Catalog, Ledger: l.ledger}
}

// greet tells where everything is.
func (l *Run) greet(w io.Writer) {
	addr := l.cfg.Listener.Addr()
	fmt.Fprintf(w, "console  http://%s/console/\nhealth   http://%s/readyz\nmetrics  http://%s/metrics\n", addr, addr, addr)
	fmt.Fprintf(w, "append   GOOGLE_CLOUD_PROJECT=%s FIRESTORE_EMULATOR_HOST=%s outbox-relay append --outbox %s --samples 10\n\n",
		Project, l.Cloud.FirestoreAddr, l.cfg.Catalog.Outboxes[0].Name)
	tryOut(w, "http://"+addr.String(), l.cfg.Troubles)
}

const (
	// tenantsEvery is between two samples for the work queues, and tenantsCounted how many of
	// each there are at most in a counted run.
	tenantsEvery   = time.Second
	tenantsCounted = 12
	// lookEvery is the pace at which the end is looked for.
	lookEvery = 50 * time.Millisecond
	// stalled is the time without news after which the dead-letter queue is
	// asked for what does not arrive.
	stalled = 2 * time.Second
	// patience is the time without news after which what has not arrived
	// counts as lost. It is well over the longest backoff.
	patience = 30 * time.Second
	// samplesWithin is how long lag samples may come after their records.
	samplesWithin = 2 * time.Second
)

// Show shows the run on w until ctx ends or all records are accounted for,
// takes everything down and sums up. It fails with [shell.ExitBroken] when the records
// were counted and the promise was not kept.
func (l *Run) Show(ctx context.Context, w io.Writer, terminal bool) error {
	l.greet(w)
	err := l.watch(ctx, demo.NewScreen(w, terminal))
	counted := err == nil && ctx.Err() == nil
	l.stopDemo()
	if err == nil {
		err = l.failure() // of a part, while it stopped
	}
	if l.cfg.Samples && err == nil {
		err = l.judge(w, counted)
	}
	return errors.Join(err, l.close())
}

// failure is why a part ended by itself, or nil.
func (l *Run) failure() error {
	if l.failed.Err() == nil {
		return nil
	}
	return context.Cause(l.failed)
}

// watch shows views until ctx ends, a part fails, or all is accounted for.
func (l *Run) watch(ctx context.Context, screen *demo.Screen) error {
	draw, look, rotate := time.NewTicker(screen.Every()), time.NewTicker(lookEvery), time.NewTicker(demo.LagRotation)
	defer draw.Stop()
	defer look.Stop()
	defer rotate.Stop()
	screen.Show(l.view())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.failed.Done():
			return l.failure()
		case <-rotate.C:
			l.ledger.Rotate()
		case <-draw.C:
			screen.Show(l.view())
		case <-look.C:
			screen.Tell(l.notes(l.service.Health()))
			done, err := l.accountedFor(ctx)
			if err != nil {
				return err
			}
			if done {
				screen.Show(l.view())
				return nil
			}
		}
	}
}

func (l *Run) view() demo.View {
	h, totals := l.service.Health(), l.ledger.Totals()
	failing := map[contracts.Lane]int{}
	for _, lane := range h.Lanes {
		failing[lane.Lane] = lane.Waiting
	}
	if !l.cfg.Samples {
		countedByRelay(totals, h)
	}
	return demo.View{Work: l.work(), Elapsed: time.Since(l.began), Totals: totals, Failing: failing, Notes: l.notes(h)}
}

// countedByRelay has the relay tell what came and was delivered, where nobody keeps a ledger of
// what is appended: it comes from others.
func countedByRelay(totals demo.Totals, h relay.Health) {
	for i := range totals.Lanes {
		for _, lane := range h.Lanes {
			if lane.Lane == totals.Lanes[i].Lane {
				totals.Lanes[i].In, totals.Lanes[i].Delivered = lane.Received, lane.Delivered
			}
		}
	}
}

// work is what came of the samples for the work queues; nil: there are none.
func (l *Run) work() *demo.Tally {
	if l.tenants == nil {
		return nil
	}
	tally := l.tenants.Tally()
	return &tally
}

// notes tell of what is out of the ordinary.
func (l *Run) notes(h relay.Health) []string {
	notes := l.cfg.Outage.Note()
	for _, b := range h.Breakers {
		if b.State != "closed" {
			notes = append(notes, fmt.Sprintf("the circuit breaker of %s is open since %s: %s", b.Target, b.Since.Format(time.TimeOnly), b.Reason))
		}
	}
	if note := l.queue.Note(); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// accountedFor reports whether a counted run is over: every record has
// arrived, stands in the dead-letter queue or behind it, or is given up.
func (l *Run) accountedFor(ctx context.Context) (bool, error) {
	if l.cfg.Records == 0 || !l.producing.ended() || (l.outing != nil && !l.outing.ended()) || (l.trouble != nil && !l.trouble.Made()) {
		return false, nil
	}
	totals := l.ledger.Totals()
	in, delivered := totals.Sum()
	quiet := time.Since(totals.Changed)
	if !l.tenants.Tally().Complete && quiet <= patience {
		return false, nil
	}
	switch {
	case in == delivered:
		return true, nil
	case quiet > patience:
		return true, nil
	case quiet > stalled:
		queue, err := l.queue.Count(ctx)
		return delivered+queue.Undelivered() >= in, err
	}
	return false, nil
}
