package dlqtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Topic stands for domain-errors.
type Topic struct {
	mu        sync.Mutex
	published []Message
	Fail      func(n int) error // of the n-th call, from 1; nil: none fails
	calls     int
}

// Message is one that a Topic took.
type Message struct {
	Data       []byte
	Attributes map[string]string
}

// Publish implements freezer.Alerts.
func (p *Topic) Publish(_ context.Context, data []byte, attributes map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.Fail != nil {
		if err := p.Fail(p.calls); err != nil {
			return err
		}
	}
	p.published = append(p.published, Message{data, attributes})
	return nil
}

// Messages are those that were published.
func (p *Topic) Messages() []Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.published)
}

// Alerts reads domain-error-log.
func (f *Fixture) Alerts() []*dlq.Alert {
	f.T.Helper()
	docs, err := f.Store.Query(f.T.Context(), dlq.Query{Collection: contracts.CollectionErrorLog, Limit: 1000})
	if err != nil {
		f.T.Fatal(err)
	}
	var out []*dlq.Alert
	for _, d := range docs {
		out = append(out, dlq.DecodeAlert(d))
	}
	return out
}

// AllMarked reports whether so many alerts stand there and all were published.
func (f *Fixture) AllMarked(n int) bool {
	all := f.Alerts()
	return len(all) == n && !slices.ContainsFunc(all, func(a *dlq.Alert) bool { return a.PublishedAt.IsZero() })
}

// Hold writes held records of an aggregate.
func (f *Fixture) Hold(outbox, eventType, aggregate string, n int) {
	f.T.Helper()
	var writes []dlq.Write
	for v := range n {
		i := f.Letter(outbox, eventType, aggregate, int64(v+10))
		record := Record(i)
		record["status"] = string(contracts.Held)
		writes = append(writes, dlq.Write{Collection: outbox, ID: i.ID, Op: dlq.OpSet, Fields: record})
	}
	if _, err := f.Store.Commit(f.T.Context(), writes); err != nil {
		f.T.Fatal(err)
	}
}

// HoldElsewhere writes held records of an aggregate to an outbox that the catalog does
// not know, with the lease of the instance that does.
func (f *Fixture) HoldElsewhere(outbox, aggregate string, n int) {
	f.T.Helper()
	writes := []dlq.Write{{Collection: contracts.CollectionLeases, ID: outbox, Op: dlq.OpSet, Fields: map[string]any{
		contracts.LeaseFieldKind: contracts.LeaseKind, "share": outbox, "owner": "",
	}}}
	for v := range n {
		writes = append(writes, dlq.Write{Collection: outbox, ID: fmt.Sprintf("%s-%d", dlq.ID(aggregate), v), Op: dlq.OpSet, Fields: map[string]any{
			contracts.FieldAggregateID: aggregate, contracts.FieldStatus: string(contracts.Held),
		}})
	}
	if _, err := f.Store.Commit(f.T.Context(), writes); err != nil {
		f.T.Fatal(err)
	}
}

// Having counts the records of an aggregate that have a status, over all outboxes of
// the catalog.
func (f *Fixture) Having(aggregate string, status contracts.Status) (n int64) {
	f.T.Helper()
	for _, o := range f.Catalog.Outboxes {
		n += f.HavingIn(o.Name, aggregate, status)
	}
	return n
}

// HavingIn counts them in one outbox.
func (f *Fixture) HavingIn(outbox, aggregate string, status contracts.Status) int64 {
	f.T.Helper()
	n, err := f.Store.Count(f.T.Context(), dlq.Query{Collection: outbox, Where: []dlq.Where{
		{Field: contracts.FieldAggregateID, Op: "==", Value: aggregate}, {Field: contracts.FieldStatus, Op: "==", Value: string(status)},
	}})
	if err != nil {
		f.T.Fatal(err)
	}
	return n
}

// Frozen reports whether an aggregate is frozen.
func (f *Fixture) Frozen(aggregate string) bool {
	f.T.Helper()
	all, err := f.Queue.FreezesOf(f.T.Context(), aggregate)
	if err != nil {
		f.T.Fatal(err)
	}
	return len(all) > 0
}

// Release decides the release of an aggregate, which must succeed.
func (f *Fixture) Release(aggregate string) {
	f.T.Helper()
	if _, err := f.Queue.Release(f.T.Context(), aggregate, dlq.Release{Actor: Security, Reason: "looked into"}); err != nil {
		f.T.Fatal(err)
	}
}

// Releases counts the audit entries of finished releases.
func (f *Fixture) Releases(aggregate string) int {
	f.T.Helper()
	p, err := f.Queue.Audit(f.T.Context(), dlq.AuditFilter{On: aggregate, Action: "released"}, dlq.Page{})
	if err != nil {
		f.T.Fatal(err)
	}
	return len(p.Items)
}
