package relay_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/tcpproxy"
	"outboxrelay/deploy/local/thorough"
)

// relays matches the commits of relays: of leases, canaries and what became of
// records. A producer's append, which creates a record, is none.
func relays(c localfirestore.Call) bool {
	r, ok := c.Request.(*pb.CommitRequest)
	return ok && (len(written(c)) > 0 || slices.ContainsFunc(r.GetWrites(), func(w *pb.Write) bool {
		return strings.Contains(w.GetUpdate().GetName(), "/"+contracts.CollectionLeases+"/")
	}))
}

// Every code in turn, or some of them, on a half of what the relay listens to and commits, leases too:
// afterwards all is delivered once and in order, and no attempt was counted.
func TestFirestoreAnswersEveryCode(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Listen", "Commit"} {
		t.Run(method, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.SilenceBound, f.tuning.CommitTimeout = time.Second, time.Second
			a := f.member("a", 5*time.Second, nil)
			f.spread(map[string]int{"a": 6})
			flow := f.flow(f.catalog, flowEvery)
			flow.on(12)
			for _, code := range someCodes(thorough.Whole()) {
				t.Log("it answers", code) // if it goes no further, this is why
				f.answers(method, code)
				flow.on(12)
			}
			records := flow.end()
			if got, want := f.delivered(records), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if n := a.events("lost"); n > 0 {
				t.Errorf("%d leases were lost", n)
			}
			f.wantNoAttempts(records)
		})
	}
}

// answers has Firestore answer a half of the calls with a code, many times.
func (f *fixture) answers(method string, code codes.Code) {
	f.t.Helper()
	fault := localfirestore.Fault{Method: method, Code: code, Share: 0.5, Seed: uint64(code)}
	if method == "Commit" {
		fault.Match = relays
	}
	faults := f.cloud.embedded.Faults()
	mend := faults.Add(fault)
	defer mend()
	if method == "Listen" {
		f.eventually("an open stream is dropped", func() bool { return faults.DropStreams(localfirestore.Drop{Code: code}) > 0 })
	}
	often := map[string]int{"Listen": 8, "Commit": 30}[method] // of a dozen listeners; the client pauses between its tries
	f.eventually("it has been answered often", func() bool { return faults.List()[0].Hit >= often })
}

// What may become of the bytes on the way to Firestore: afterwards all is
// delivered in order, and no attempt was counted.
func TestFirestoreOverABadWay(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	for _, test := range []struct {
		name   string
		toxic  tcpproxy.Toxic
		worked bool // all is delivered meanwhile
	}{
		{"reset", reset, false},
		{"2 s late", slow, true},
		{"1 KB/s", narrow, false},
		{"cut after some bytes", cutShort, false},
		{"swallowed", swallowed, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.tuning.SilenceBound, f.patience = 6*time.Second, time.Minute
			a := f.member("a", 15*time.Second, nil)
			f.spread(map[string]int{"a": 6})
			flow := f.flow(f.catalog, flowEvery)
			flow.on(12)

			a.firestore.poison(test.toxic)
			a.watching.poison(test.toxic)
			from := len(f.inbox.all())
			pause := time.After(3 * time.Second) // of a bad way, whatever it does meanwhile
			<-pause
			if test.worked {
				f.eventually("it works on, though slowly", func() bool { return len(f.inbox.all()) > from+30 })
			}
			a.firestore.mend()
			a.watching.mend()
			flow.on(12)

			records := flow.end()
			got := f.delivered(records)
			if want := (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			f.wantNoAttempts(records)
		})
	}
}

// Commits are applied and their answers lost: those that mark records, that
// take and release leases, and that write dead letters. Nothing is lost,
// and nothing happens twice. For renewals, see lease.TestLostAnswers.
func TestLostAnswers(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(3, time.Millisecond)
	f.withSiblings()
	f.script(refuses("poison"))
	faults := f.cloud.embedded.Faults()
	mend := faults.Add(localfirestore.Fault{Method: "Commit", Match: relays, LoseResponse: true, Code: codes.Unavailable, Share: 0.4, Seed: 5})
	const term = time.Minute // more than a machine stands still: only a lost answer loses a lease
	a := f.member("a", term, nil)
	f.spread(map[string]int{"a": 6})
	flow := f.flow(f.catalog, flowEvery)
	poison := f.series("schedOutbox", "ScheduleProposed", "poison", 1, 5)
	f.append(poison, 2)
	flow.on(30)
	b := f.member("b", term, nil)
	f.spread(map[string]int{"a": 3, "b": 3})
	flow.on(30)
	a.stop()
	f.spread(map[string]int{"b": 6})
	flow.on(30)

	records := flow.end()
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("what is refused is dead", func() bool { return f.unmarked(poison, contracts.Dead) == 0 })
	mend()
	dead := f.deadLetters()
	for _, r := range poison {
		if letter := dead[r.IdempotencyKey]; letter["attempts"] != int64(3) {
			t.Errorf("the dead letter of version %d has %v attempts, want 3", r.AggregateVersion, letter["attempts"])
		}
	}
	if len(dead) != len(poison) {
		t.Errorf("got %d dead letters, want %d", len(dead), len(poison))
	}
	if n := b.events("lost"); n > 0 {
		t.Errorf("%d leases were lost", n)
	}
}
