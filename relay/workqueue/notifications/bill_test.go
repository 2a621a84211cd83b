package notifications

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

func testFigures(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	f.serve(f.client())
	old := with("createdAt", time.Now().Add(-time.Hour))
	f.awaitStatus(f.event(tenant, with("dedupeKey", "same"), old), StatusEmitted)
	f.awaitStatus(f.event(tenant, with("dedupeKey", "same"), old), StatusEmitted)
	f.awaitStatus(f.event(tenant, with("createdBy", "")), StatusFailed)
	hours, err := Hours(t.Context(), f.db, tenant, time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var sum Stats
	for _, h := range hours {
		if !h.Begin.Equal(h.Begin.Truncate(time.Hour)) {
			t.Errorf("an hour that begins at %v", h.Begin)
		}
		sum = sum.Add(h)
	}
	var days Stats
	for _, d := range Days(hours, time.UTC) {
		days = days.Add(d)
	}
	for _, got := range []Stats{sum, days} {
		if got.ProcessedEvents != 2 || got.DedupedEvents != 1 || got.NotificationsWritten != 2 || got.FailedEvents != 1 || got.AverageDispatchLatency() < time.Hour/2 {
			t.Errorf("figures %+v", got)
		}
	}
}

// All times are the server's: instances whose clocks are hours off work as others do.
func TestClockBehind(t *testing.T) {
	for _, off := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			declared := Indexes()
			server, address := firestoretest.Start(t, localfirestore.Options{Indexes: &declared, Now: func() time.Time { return time.Now().Add(off) }})
			f := setup(t, &cloud{address, server})
			f.settings.BaseRetry = 10 * time.Millisecond
			tenant := f.tenant("a", twoAdmins...)
			w := &failing{}
			w.left.Store(1)
			f.serve(f.client(w.options()...))
			f.serve(f.client())
			first := f.event(tenant, with("dedupeKey", "same"))
			f.awaitStatus(first, StatusEmitted)
			second := f.event(tenant, with("dedupeKey", "same"))
			if got := f.awaitStatus(second, StatusEmitted); got["queueId"] != first.ID {
				t.Errorf("the second event %v", got)
			}
			if got := f.bells(tenant); len(got) != 2 || len(got["ana"]) != 1 {
				t.Errorf("bells %v", got)
			}
			f.age(tenant, "same", first.ID)
			f.awaitStatus(f.event(tenant, with("dedupeKey", "same")), StatusEmitted)
			if got := f.bells(tenant); len(got["ana"]) != 2 {
				t.Errorf("bells after the window %v", got)
			}
		})
	}
}

// What an attempt at an event for two people costs: see the package's documentation.
func TestBillOfAnEvent(t *testing.T) {
	f := setup(t, onEmbedded(t))
	tenant := f.tenant("a", twoAdmins...)
	claim := f.claim(f.handler, f.event(tenant))
	before := f.cloud.embedded.Billing()
	if _, err := f.handler.attempt(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	after := f.cloud.embedded.Billing()
	got := map[string]localfirestore.Operations{}
	for name, a := range after.Collections {
		b := before.Collections[name]
		if o := (localfirestore.Operations{Reads: a.Reads - b.Reads, Writes: a.Writes - b.Writes}); o != (localfirestore.Operations{}) {
			got[name] = o
		}
	}
	if diff := cmp.Diff(map[string]localfirestore.Operations{
		CollectionEvents: {Reads: 1, Writes: 1},
		CollectionQueue:  {Reads: 2, Writes: 1}, // its own, and those with the key: none
		CollectionDedupe: {Reads: 1, Writes: 1},
		CollectionUsers:  {Reads: 2},
		CollectionBells:  {Writes: 2},
		CollectionStats:  {Writes: 1},
	}, got); diff != "" {
		t.Errorf("bill (-want +got):\n%s", diff)
	}
}
