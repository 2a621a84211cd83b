package main

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
	"outboxrelay/dlq/admin/auth"
	"outboxrelay/relay"
)

// localProject is the project of a local run. No Google project can have its
// name, as they are 30 letters at most.
const localProject = "outbox-relay-local-demo-project"

const (
	// localInstance is the one that owns the outboxes of a local run.
	localInstance = "local"
	// localLeaseTerm is short, since a run that was killed has its data taken up
	// by the next after that.
	localLeaseTerm = 3 * time.Second
)

// localConfig is what a local run is made of.
type localConfig struct {
	catalog *contracts.Catalog
	dataDir string
	tuning  relay.Tuning
	outage  *outage // nil: none
	// troubles are records that become dead letters.
	troubles []*demo.Trouble
	lis      net.Listener
	log      *zap.Logger
	traces   *tracesConfig // nil: none

	samples bool
	rate    float64 // records a second; 0: as fast as it goes
	records int64   // 0: until it is stopped
}

// localRun is an embedded cloud, a service on it, and what the demo puts around
// them. Its parts are stopped one after another: producers, service, consumers.
type localRun struct {
	cfg     localConfig
	cloud   *local.Cloud
	service *service
	docs    *firestore.Client
	topics  *pubsub.Client
	users   *demo.Auth
	queue   *queueWatch
	ledger  *demo.Ledger
	sample  *demo.Producers // nil: none
	apps    *demo.Clients   // of the accounts whose claims are set; nil: none are
	began   time.Time

	fail   context.CancelCauseFunc
	failed context.Context // ends when a part ends with an error
	// Parts; nil: not started.
	consuming, serving, producing, outing, troubling, counting, listening *part
}

// openLocal opens everything. start must follow, and show.
func openLocal(ctx context.Context, cfg localConfig) (*localRun, error) {
	l := &localRun{cfg: cfg, ledger: demo.NewLedger(), began: time.Now()}
	l.failed, l.fail = context.WithCancelCause(context.Background())
	if err := l.open(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *localRun) open(ctx context.Context) (err error) {
	declared := requirements.IndexesOf(l.cfg.catalog) // those that a deployment would have
	l.cloud, err = local.Start(local.Options{
		DataDir: l.cfg.dataDir, Project: localProject, Topics: l.cfg.catalog.Topics(), Indexes: &declared, Log: l.cfg.log,
	})
	if err != nil {
		return err
	}
	at := gcp.Place{
		Project: localProject, Database: firestore.DefaultDatabaseID,
		Firestore: l.cloud.FirestoreAddr, PubSub: l.cloud.PubSubAddr, Auth: l.cloud.AuthAddr,
	}
	l.users = &demo.Auth{Addr: at.Auth, Project: localProject, HTTP: &http.Client{Transport: &http.Transport{}}}
	if l.docs, err = at.DialFirestore(ctx); err != nil {
		return err
	}
	l.queue = &queueWatch{docs: l.docs, catalog: l.cfg.catalog, log: l.cfg.log}
	if l.topics, err = at.DialPubSub(ctx); err != nil {
		return err
	}
	if l.cfg.samples {
		if err := l.consumers().Subscribe(ctx); err != nil {
			return err
		}
		l.sample = &demo.Producers{
			Client: l.docs, Catalog: l.cfg.catalog, Ledger: l.ledger,
			Rate: l.cfg.rate, Records: l.cfg.records, Seed: rand.Uint64(),
		}
	}
	if err := l.openAccounts(ctx); err != nil {
		return err
	}
	// Its address is loopback: the command line sees to it.
	who, err := auth.New(auth.Config{Mode: auth.ModeDev, ListenAddr: l.cfg.lis.Addr().String(), Log: l.cfg.log})
	if err != nil {
		return err
	}
	l.service, err = newService(ctx, serviceConfig{
		place: at, catalog: l.cfg.catalog, tuning: l.cfg.tuning, who: who, mode: auth.ModeDev, log: l.cfg.log, wrapHandler: l.witness,
		instance: localInstance, leaseTerm: localLeaseTerm, traces: l.cfg.traces,
	})
	return err
}

// start sets the parts going.
func (l *localRun) start(ctx context.Context) {
	pages := servicePages(l.service.health, l.service.registry)
	l.serving = startPart(ctx, l.fail, func(ctx context.Context) error {
		return l.service.run(ctx, site{pages, l.service.api, l.service.console}, l.cfg.lis)
	})
	if l.cfg.samples {
		l.consuming = startPart(ctx, l.fail, l.consumers().Run)
		l.producing = startPart(ctx, l.fail, l.sample.Run)
	}
	if l.apps != nil {
		l.listening = startPart(ctx, l.fail, l.apps.Run)
	}
	if l.cfg.outage != nil {
		l.outing = startPart(ctx, l.fail, func(ctx context.Context) error { return l.cfg.outage.run(ctx, l.cloud.PubSub.Faults()) })
	}
	if len(l.cfg.troubles) > 0 {
		troublemaker := &demo.Troublemaker{Client: l.docs, Faults: l.cloud.PubSub.Faults(), Auth: l.users, Ledger: l.ledger, Troubles: l.cfg.troubles}
		l.troubling = startPart(ctx, l.fail, troublemaker.Run)
		l.counting = startPart(ctx, l.fail, l.queue.run)
	}
}

func (l *localRun) consumers() *demo.Consumers {
	return &demo.Consumers{Client: l.topics, Catalog: l.cfg.catalog, Ledger: l.ledger}
}

// greet tells where everything is.
func (l *localRun) greet(w io.Writer) {
	addr := l.cfg.lis.Addr()
	fmt.Fprintf(w, "console  http://%s/console/\nhealth   http://%s/readyz\nmetrics  http://%s/metrics\n", addr, addr, addr)
	fmt.Fprintf(w, "append   GOOGLE_CLOUD_PROJECT=%s FIRESTORE_EMULATOR_HOST=%s outbox-relay append --outbox %s --samples 10\n\n",
		localProject, l.cloud.FirestoreAddr, l.cfg.catalog.Outboxes[0].Name)
	tryOut(w, "http://"+addr.String(), l.cfg.troubles)
}

const (
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

// show shows the run on w until ctx ends or all records are accounted for,
// takes everything down and sums up. It fails with exitBroken when the records
// were counted and the promise was not kept.
func (l *localRun) show(ctx context.Context, w io.Writer, terminal bool) error {
	l.greet(w)
	err := l.watch(ctx, demo.NewScreen(w, terminal))
	counted := err == nil && ctx.Err() == nil
	l.stopDemo()
	if err == nil {
		err = l.failure() // of a part, while it stopped
	}
	if l.cfg.samples && err == nil {
		err = l.judge(w, counted)
	}
	return errors.Join(err, l.close())
}

// failure is why a part ended by itself, or nil.
func (l *localRun) failure() error {
	if l.failed.Err() == nil {
		return nil
	}
	return context.Cause(l.failed)
}

// watch shows views until ctx ends, a part fails, or all is accounted for.
func (l *localRun) watch(ctx context.Context, screen *demo.Screen) error {
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
			screen.Tell(l.notes(l.service.relay.Health()))
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

func (l *localRun) view() demo.View {
	h := l.service.relay.Health()
	failing := map[contracts.Lane]int{}
	for _, lane := range h.Lanes {
		failing[lane.Lane] = lane.Waiting
	}
	return demo.View{Elapsed: time.Since(l.began), Totals: l.ledger.Totals(), Failing: failing, Notes: l.notes(h)}
}

// notes tell of what is out of the ordinary.
func (l *localRun) notes(h relay.Health) []string {
	notes := l.cfg.outage.note()
	for _, b := range h.Breakers {
		if b.State != "closed" {
			notes = append(notes, fmt.Sprintf("the circuit breaker of %s is open since %s: %s", b.Target, b.Since.Format(time.TimeOnly), b.Reason))
		}
	}
	if note := l.queue.latest().Note(); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// accountedFor reports whether a counted run is over: every record has
// arrived, stands in the dead-letter queue or behind it, or is given up.
func (l *localRun) accountedFor(ctx context.Context) (bool, error) {
	if l.cfg.records == 0 || !l.producing.ended() || (l.outing != nil && !l.outing.ended()) || (l.troubling != nil && !l.troubling.ended()) {
		return false, nil
	}
	totals := l.ledger.Totals()
	in, delivered := totals.Sum()
	quiet := time.Since(totals.Changed)
	switch {
	case in == delivered:
		return true, nil
	case quiet > patience:
		return true, nil
	case quiet > stalled:
		queue, err := l.queue.count(ctx)
		return delivered+queue.Undelivered() >= in, err
	}
	return false, nil
}
