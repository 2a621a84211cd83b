package relay_test

import (
	"slices"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// metric adds up the series of a counter that carry all the labels given, as
// name and value in turn.
func (r *running) metric(name string, labels ...string) float64 {
	r.f.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.f.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			has := make(map[string]string)
			for _, l := range m.GetLabel() {
				has[l.GetName()] = l.GetValue()
			}
			match := true
			for i := 0; i < len(labels); i += 2 {
				match = match && has[labels[i]] == labels[i+1]
			}
			if match {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// inMemory is the number of records that the relay holds.
func (r *running) inMemory() int {
	n := 0
	for _, o := range r.relay.Health().Outboxes {
		n += o.InMemory
	}
	return n
}

// outbox is the health of one outbox.
func (r *running) outbox(name string) relay.OutboxHealth {
	all := r.relay.Health().Outboxes
	return all[slices.IndexFunc(all, func(o relay.OutboxHealth) bool { return o.Outbox == name })]
}

// listener is the health of one listener.
func (r *running) listener(outbox, name string) relay.ListenerHealth {
	all := r.outbox(outbox).Listeners
	return all[slices.IndexFunc(all, func(l relay.ListenerHealth) bool { return l.Listener == name })]
}

// alive waits until every listener is proven alive.
func (r *running) alive() {
	r.f.t.Helper()
	r.f.eventually("every listener is proven alive", func() bool {
		for _, o := range r.relay.Health().Outboxes {
			if len(o.Listeners) == 0 { // not begun
				return false
			}
			for _, l := range o.Listeners {
				if l.State != "alive" || l.ProvenAt == nil {
					return false
				}
			}
		}
		return true
	})
}

// delivered waits until the records arrived and are marked, and judges them.
func (f *fixture) delivered(records []*contracts.Record) judgement {
	f.t.Helper()
	judged := -1
	f.eventually("every record arrives", func() bool {
		before := judged // judging many costs more than waiting: only what is new is worth it
		judged = len(f.inbox.all())
		return judged > before && f.judge(records).missing == 0
	})
	f.eventually("every record is marked", func() bool { return f.unmarked(records, contracts.Delivered) == 0 })
	return f.judge(records)
}

// unmarked counts the records that do not have the status.
func (f *fixture) unmarked(records []*contracts.Record, want contracts.Status) int {
	f.t.Helper()
	n := 0
	for _, fields := range f.documents(records) {
		if fields["status"] != string(want) {
			n++
		}
	}
	return n
}

// documents reads the records' documents, all at the same moment.
func (f *fixture) documents(records []*contracts.Record) []map[string]any {
	f.t.Helper()
	refs := make([]*firestore.DocumentRef, len(records))
	for i, r := range records {
		refs[i] = f.db.Collection(r.Outbox).Doc(r.ID)
	}
	snaps, err := f.db.GetAll(f.ctx, refs)
	if err != nil {
		f.t.Fatal(err)
	}
	out := make([]map[string]any, len(snaps))
	for i, s := range snaps {
		out[i] = s.Data()
	}
	return out
}

// arrived counts the messages of a target.
func (f *fixture) arrived(target string) int {
	n := 0
	for _, m := range f.inbox.all() {
		if m.attributes["target"] == target {
			n++
		}
	}
	return n
}
