package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay/lease/leasetest"
)

// fleet is several instances of the service, each a process of its own, on one
// cloud, with producers and consumers around them.
type fleet struct {
	*witness
	t       *testing.T
	at      gcp.Place
	env     map[string]string
	catalog *contracts.Catalog
	docs    *dlqfirestore.Client
	random  *rand.Rand
}

// openFleet makes topics and consumers. Leases have the term given.
func openFleet(t *testing.T, term time.Duration) *fleet {
	t.Helper()
	at, env := anyCloud(t)
	return openFleetAt(t, at, env, testCatalog(t), term)
}

func openFleetAt(t *testing.T, at gcp.Place, env map[string]string, catalog *contracts.Catalog, term time.Duration) *fleet {
	t.Helper()
	f := &fleet{
		witness: newWitness(), t: t, at: at, env: maps.Clone(env), catalog: catalog, docs: mustDialFirestore(t, at),
		random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)),
	}
	f.env[envLeaseTerm] = term.String()
	f.subscribe(catalog.Topics()...)
	return f
}

// subscribe makes topics, and has the witness see what comes to those of targets.
func (f *fleet) subscribe(topics ...string) {
	f.t.Helper()
	consume(f.t, f.at, "fleet", topics, ofTarget, func(_ string, a map[string]string) { f.arrived(a) })
}

// ofTarget reports whether a topic is a target's, and not the service's own.
func ofTarget(topic string) bool { return strings.HasPrefix(topic, "ier-") }

// flow appends to every outbox at the same time, of all its events, one record
// each interval, until it is ended.
func (f *fleet) flow(every time.Duration) (end func()) {
	var ends []func()
	for _, o := range f.catalog.Outboxes {
		seed := f.random.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		ends = append(ends, f.produce(every, f.catalog, func(n int) *contracts.Record {
			// Four aggregates in turn, each with ascending versions.
			return f.catalog.Sample(random, o, fmt.Sprintf("%s-%x-%d", o.Name, seed, n%4), int64(n/4)+1, time.Now())
		}))
	}
	return inTurn(ends)
}

// inTurn calls each.
func inTurn(ends []func()) func() {
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// produce appends what next makes, one record each interval, until it is ended.
// The targets of each are those of the catalog given.
func (f *fleet) produce(every time.Duration, by *contracts.Catalog, next func(n int) *contracts.Record) (end func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var flowing sync.WaitGroup
	flowing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
				f.put(ctx, by, next(n))
			case <-ctx.Done():
				return
			}
		}
	})
	end = sync.OnceFunc(func() { cancel(); flowing.Wait() })
	f.t.Cleanup(end)
	return end
}

// put appends a record, and tries until it is in or ctx ends. Its targets are
// those of the catalog given.
func (f *fleet) put(ctx context.Context, by *contracts.Catalog, rec *contracts.Record) {
	f.expect(rec, by.Outbox(rec.Outbox).Route(rec.EventType).Targets)
	fields := rec.ProducerFields()
	fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
	for {
		// An append that was begun comes to its end. One whose answer was lost is
		// there when it is tried again.
		_, err := f.docs.Collection(rec.Outbox).Doc(rec.ID).Create(context.WithoutCancel(ctx), fields)
		if err == nil || status.Code(err) == codes.AlreadyExists {
			f.appended(rec)
			return
		}
		if ctx.Err() != nil {
			f.forget(rec)
			return
		}
	}
}

// putEach appends the records that next makes of 0 to n-1, one after the other.
func (f *fleet) putEach(n int, by *contracts.Catalog, next func(n int) *contracts.Record) {
	for i := range n {
		f.put(f.t.Context(), by, next(i))
	}
}

// instance is one process of a fleet.
type instance struct {
	*child
	t          *testing.T
	name, addr string
}

// start starts an instance and waits until it takes part.
func (f *fleet) start(name string, settings ...string) *instance {
	f.t.Helper()
	env := maps.Clone(f.env)
	env["INSTANCE"] = name
	for _, s := range settings {
		variable, value, _ := strings.Cut(s, "=")
		env[variable] = value
	}
	i := &instance{child: startChild(f.t, env, serveArgs...), t: f.t, name: name}
	i.addr = i.stderr.find(f.t, servingAddr)
	eventually(f.t, name+" is ready", func() bool { code, _ := fetch(f.t, i.addr, "/readyz"); return code == 200 })
	f.t.Cleanup(func() {
		if f.t.Failed() {
			f.t.Logf("the log of %s ends with:\n%s", name, tail(i.stderr.String(), 4000))
		}
	})
	return i
}

// logged lists what an instance logged with a message.
func (i *instance) logged(message string) []map[string]any {
	var out []map[string]any
	for line := range strings.Lines(i.stderr.String()) {
		entry := map[string]any{}
		if json.Unmarshal([]byte(line), &entry) == nil && entry["message"] == message {
			out = append(out, entry)
		}
	}
	return out
}

// leaseEvents is a count of relay_lease_events_total.
func (i *instance) leaseEvents(event string) int {
	i.t.Helper()
	_, body := fetch(i.t, i.addr, "/metrics")
	m := regexp.MustCompile(`relay_lease_events_total\{event="` + event + `"\} (\S+)`).FindStringSubmatch(body)
	if m == nil {
		i.t.Fatalf("%s tells no %s leases", i.name, event)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		i.t.Fatal(err)
	}
	return int(n)
}

// leases reads the outboxes' leases.
func (f *fleet) leases() leasetest.Leases {
	f.t.Helper()
	leases, _, err := leasetest.Read(f.t.Context(), f.docs.Client)
	if err != nil {
		f.t.Fatal(err)
	}
	delete(leases, contracts.ShareQueue)
	return leases
}

// spread waits until the outboxes are owned by so many each.
func (f *fleet) spread(want map[string]int) leasetest.Leases {
	f.t.Helper()
	var leases leasetest.Leases
	patiently(f.t, fmt.Sprintf("outboxes are spread as %v", want), testPatience, 20*time.Millisecond, func() bool {
		leases = f.leases()
		return cmp.Equal(want, leases.Spread())
	})
	return leases
}

// flowOn waits until so many more records have arrived.
func (f *fleet) flowOn(records int) {
	f.t.Helper()
	from := f.tally()
	patiently(f.t, "records flow on", 2*testPatience, 20*time.Millisecond, func() bool {
		now := f.tally()
		return now.Records-now.Missing >= from.Records-from.Missing+records
	})
}

// arrive waits until everything has arrived that was appended, and tells what
// else did.
func (f *fleet) arrive() tally {
	f.t.Helper()
	patiently(f.t, "every record has arrived", 2*testPatience, 20*time.Millisecond, func() bool { return f.tally().Missing == 0 })
	return f.tally()
}
