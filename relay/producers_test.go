package relay_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
)

// records makes n valid records of an outbox over some aggregates.
func (f *fixture) records(outbox string, n, aggregates int) []*contracts.Record {
	f.t.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	o := f.catalog.Outbox(outbox)
	var out []*contracts.Record
	for i := range n {
		id := fmt.Sprintf("%s-agg-%d", outbox, i%aggregates)
		out = append(out, f.catalog.Sample(rnd, o, id, int64(i/aggregates)+1, time.Now()))
	}
	return out
}

// appendEach appends records one by one, those that are in already apart, and
// tries until they are in.
func (f *fixture) appendEach(records []*contracts.Record, createdAt any) {
	f.t.Helper()
	for _, r := range records {
		fields := r.ProducerFields()
		fields[contracts.FieldCreatedAt] = createdAt
		f.eventually("record "+r.ID+" is appended", func() bool {
			_, err := f.db.Collection(r.Outbox).Doc(r.ID).Create(f.ctx, fields)
			return err == nil || status.Code(err) == codes.AlreadyExists
		})
	}
}

// append commits records with the server's time, so many to a commit.
func (f *fixture) append(records []*contracts.Record, perCommit int) {
	f.t.Helper()
	for chunk := range slices.Chunk(records, perCommit) {
		f.appendAtOnce(chunk, firestore.ServerTimestamp)
	}
}

// appendAtOnce commits records together, all with that createdAt.
func (f *fixture) appendAtOnce(records []*contracts.Record, createdAt any) {
	f.t.Helper()
	b := f.db.Batch() //nolint:staticcheck // one atomic commit, as a producer makes it
	for _, r := range records {
		fields := r.ProducerFields()
		fields[contracts.FieldCreatedAt] = createdAt
		b.Create(f.db.Collection(r.Outbox).Doc(r.ID), fields)
	}
	_, err := b.Commit(f.ctx)
	switch status.Code(err) {
	case codes.OK:
	case codes.Canceled, codes.Aborted, codes.Unavailable, codes.AlreadyExists:
		f.appendEach(records, createdAt) // an emulator under load gives up on commits
	default:
		f.t.Fatal(err)
	}
}

// record makes one valid record of an event type.
func (f *fixture) record(outbox, eventType, aggregate string, version int64) *contracts.Record {
	f.t.Helper()
	o := *f.catalog.Outbox(outbox)
	o.Events = []*contracts.EventRoute{o.Route(eventType)}
	f.made++
	return f.catalog.Sample(rand.New(rand.NewPCG(2, f.made)), &o, aggregate, version, time.Now())
}

// series makes records of one event type: versions first to last of an
// aggregate.
func (f *fixture) series(outbox, eventType, aggregate string, first, last int64) []*contracts.Record {
	f.t.Helper()
	var out []*contracts.Record
	for v := first; v <= last; v++ {
		out = append(out, f.record(outbox, eventType, aggregate, v))
	}
	return out
}

// each makes n records of one event type, each of an aggregate of its own.
func (f *fixture) each(outbox, eventType string, n int) []*contracts.Record {
	f.t.Helper()
	var out []*contracts.Record
	for i := range n {
		out = append(out, f.record(outbox, eventType, fmt.Sprint(eventType, "-", i), 1))
	}
	return out
}

// shrink makes every lane's window and memory small, so that few records show
// what many would do, and its lingers short, so that they do it soon.
func (f *fixture) shrink(window, inFlight int) {
	for lane, policy := range f.catalog.Lanes {
		policy.Window, policy.InFlight, policy.SettleLinger = window, inFlight, time.Millisecond
		f.catalog.Lanes[lane] = policy
	}
}

// retries sets the backoff between attempts.
func (f *fixture) retries(attempts int, wait time.Duration) {
	f.catalog.Retry.MaxAttempts = attempts
	f.catalog.Retry.Initial, f.catalog.Retry.Max = wait, wait
}

// dueNow has the records in backoff wait no longer.
func (f *fixture) dueNow(records []*contracts.Record) {
	f.t.Helper()
	for i, fields := range f.documents(records) {
		if fields["status"] != "retrying" {
			continue
		}
		if _, err := f.db.Doc(records[i].Path()).Update(f.ctx, []firestore.Update{{Path: "nextAttemptAt", Value: time.Now().Add(-time.Minute)}}); err != nil {
			f.t.Fatal(err)
		}
	}
}
