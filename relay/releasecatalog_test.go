package relay_test

import (
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// A release is finished by an instance with another catalog than the one that held
// the records. They are delivered in order all the same.
func TestReleaseByAnotherCatalog(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"while the outbox is relayed": false, "while nobody knows the outbox": true} {
		t.Run(name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.withSiblings()
			before := *f.catalog
			before.Outboxes = withoutOutbox(f.catalog, "skillOutbox")
			old := f.member("old", 10*time.Second, func(s *setting) {
				var err error
				s.catalog = &before
				if s.queue, err = dlq.New(dlq.Config{Store: dlqfirestore.New(f.db), Catalog: &before, Log: f.log}); err != nil {
					t.Fatal(err)
				}
			})
			f.eventually("the old one leads", old.relay.Leads)
			f.spread(map[string]int{"old": 5})
			newer := f.member("new", 10*time.Second, nil)
			f.eventually("the new one has the new outbox", func() bool { return f.leases()["skillOutbox"].Owner == "new" })

			f.freeze(account, dlq.Frozen)
			frozen := func() bool { return old.relay.Health().Frozen == 1 && newer.relay.Health().Frozen == 1 }
			f.eventually("both know that it is frozen", frozen)
			records := f.series("skillOutbox", "SkillXpAdded", account, 1, 12)
			f.append(records[:10], 3)
			f.held(records[:10])
			if gone {
				newer.stop()
				f.eventually("nobody has the new outbox", func() bool { return f.leases()["skillOutbox"].Owner == "" })
			}
			if _, err := f.queue.Release(t.Context(), account, dlq.Release{Actor: guard, Reason: "mended"}); err != nil {
				t.Fatal(err)
			}
			f.eventually("the freeze is gone", f.freezeGone)
			if !old.relay.Leads() {
				t.Fatal("another instance leads: this shows nothing")
			}
			if n := f.unmarked(records[:10], contracts.Held); n != 10 {
				t.Errorf("%d records are held still, and the freeze is gone", 10-n)
			}
			f.append(records[10:], 1)
			if gone {
				f.member("newer", 10*time.Second, nil)
			}
			if got, want := f.delivered(records), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
		})
	}
}
