package relay_test

import (
	"testing"

	"outboxrelay/contracts"
)

func TestDeliversSixOutboxesInOrder(t *testing.T)         { deliversSixOutboxes(t, newCloud(t)) }
func TestDeliversSixOutboxesInOrderOnGoogle(t *testing.T) { deliversSixOutboxes(t, onGoogle(t)) }

func deliversSixOutboxes(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.run()
	var all []*contracts.Record
	for _, o := range f.catalog.Outboxes {
		records := f.records(o.Name, 300, 7)
		f.append(records, 20)
		all = append(all, records...)
	}
	f.eventually("every record is delivered", func() bool { return f.judge(all).missing == 0 })
	if j := f.judge(all); j.disordered > 0 || j.duplicates > 0 {
		t.Errorf("got %+v, want no disorder and no duplicates", j)
	}
	f.eventually("every record is marked", func() bool { return f.count("delivered") == len(all) })
}
