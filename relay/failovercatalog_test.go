package relay_test

import (
	"slices"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// A deployment changes the catalog: the old instances know an outbox that the
// new ones do not, and the other way round. Each outbox is owned by one who
// knows it for as long as there is one, and records flow on.
func TestCatalogChangesWithADeploy(t *testing.T) {
	f := setup(t, newCloud(t))
	before, after := *f.catalog, *f.catalog
	before.Outboxes = withoutOutbox(f.catalog, "skillOutbox")
	after.Outboxes = withoutOutbox(f.catalog, "tagOutbox")
	knows := func(c *contracts.Catalog) func(*setting) { return func(s *setting) { s.catalog = c } }

	old := f.member("old", 10*time.Second, knows(&before))
	f.spread(map[string]int{"old": 5})
	flow := f.flow(f.catalog, flowEvery) // of producers that know all
	flow.on(20)
	f.member("new", 10*time.Second, knows(&after))
	leases := f.spread(map[string]int{"old": 3, "new": 3})
	if leases["tagOutbox"].Owner != "old" || leases["skillOutbox"].Owner != "new" {
		t.Errorf("tagOutbox is %q's and skillOutbox %q's, want those who know them", leases["tagOutbox"].Owner, leases["skillOutbox"].Owner)
	}
	flow.on(30)
	records := flow.end()
	f.delivered(records) // those of tagOutbox too, while somebody knows it
	old.stop()
	f.spread(map[string]int{"new": 5, "": 1})

	left := f.records("tagOutbox", 5, 1)
	f.append(left, 5)
	rest := f.records("skillOutbox", 10, 2)
	f.append(rest, 5)
	if got, want := f.delivered(slices.Concat(records, rest)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	// Until somebody knows it again.
	f.member("old", 10*time.Second, knows(&before))
	f.spread(map[string]int{"old": 3, "new": 3})
	if got, want := f.delivered(slices.Concat(records, rest, left)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

func withoutOutbox(c *contracts.Catalog, name string) []*contracts.Outbox {
	return slices.DeleteFunc(slices.Clone(c.Outboxes), func(o *contracts.Outbox) bool { return o.Name == name })
}
