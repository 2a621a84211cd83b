package relay_test

import (
	"context"
	"slices"
	"strings"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	localpubsub "outboxrelay/deploy/local/pubsub"
	"outboxrelay/ier"
	"outboxrelay/relay"
)

// breaks puts a fault of Pub/Sub in force and returns what mends it.
func (f *fixture) breaks(fault localpubsub.Fault) (mend func()) {
	f.t.Helper()
	id, err := f.cloud.broker.Faults().Add(fault)
	if err != nil {
		f.t.Fatal(err)
	}
	return func() { f.cloud.broker.Faults().Remove(id) }
}

// settles matches commits that write a record of an outbox: not its canaries.
func settles(outbox string) func(localfirestore.Call) bool {
	return func(c localfirestore.Call) bool {
		return slices.ContainsFunc(written(c), func(name string) bool {
			return strings.Contains(name, "/"+outbox+"/") && !strings.Contains(name, "/!")
		})
	}
}

// writesTo matches commits that write the document at path.
func writesTo(path string) func(localfirestore.Call) bool {
	return func(c localfirestore.Call) bool {
		return slices.ContainsFunc(written(c), func(name string) bool { return strings.HasSuffix(name, "/"+path) })
	}
}

// creates matches commits that create a document of a collection.
func creates(collection string) func(localfirestore.Call) bool {
	return func(c localfirestore.Call) bool {
		r, _ := c.Request.(*pb.CommitRequest)
		return slices.ContainsFunc(r.GetWrites(), func(w *pb.Write) bool {
			return strings.Contains(w.GetUpdate().GetName(), "/"+collection+"/") && w.GetCurrentDocument() != nil
		})
	}
}

// written lists the names of the documents that a call changes: those that it
// creates, as a producer's append does, are left out.
func written(c localfirestore.Call) []string {
	var names []string
	if r, ok := c.Request.(*pb.CommitRequest); ok {
		for _, w := range r.GetWrites() {
			if exists, ok := w.GetCurrentDocument().GetConditionType().(*pb.Precondition_Exists); ok && !exists.Exists {
				continue
			}
			names = append(names, w.GetUpdate().GetName()+w.GetDelete())
		}
	}
	return names
}

// scripted is a target that fails a record as fail says, and keeps the
// contract of ier.Target.
type scripted struct {
	ier.Target
	fail func(ctx context.Context, r *contracts.Record) error
}

func (s *scripted) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	for i, p := range parcels {
		err := s.fail(ctx, p.Record)
		if err == nil {
			continue
		}
		errs := make([]error, 0, len(parcels))
		if i > 0 {
			errs = s.Target.Deliver(ctx, parcels[:i])
		}
		for _, e := range errs {
			if e != nil {
				err = ier.ErrBehind
			}
		}
		errs = append(errs, err)
		for range parcels[i+1:] {
			errs = append(errs, ier.ErrBehind)
		}
		return errs
	}
	return s.Target.Deliver(ctx, parcels)
}

// script makes every target fail as fail says.
func (f *fixture) script(fail func(ctx context.Context, target string, r *contracts.Record) error) {
	f.wrapTarget = func(name string, target ier.Target) ier.Target {
		return &scripted{Target: target, fail: func(ctx context.Context, r *contracts.Record) error { return fail(ctx, name, r) }}
	}
}

func failure(kind contracts.Kind, code string) error {
	return &contracts.Failure{Kind: kind, Code: code}
}

// storeFunc wraps a Store: what is nil goes to the Store itself.
type storeFunc struct {
	relay.Store
	watch  func(ctx context.Context, s relay.Scan) (relay.Stream, error)
	page   func(ctx context.Context, s relay.Scan) ([]relay.Doc, error)
	count  func(ctx context.Context, scans ...relay.Scan) ([]int64, error)
	commit func(ctx context.Context, writes []relay.Write) ([]time.Time, error)
}

func (s *storeFunc) Commit(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
	if s.commit != nil {
		return s.commit(ctx, writes)
	}
	return s.Store.Commit(ctx, writes)
}

func (s *storeFunc) Watch(ctx context.Context, scan relay.Scan) (relay.Stream, error) {
	if s.watch != nil {
		return s.watch(ctx, scan)
	}
	return s.Store.Watch(ctx, scan)
}

func (s *storeFunc) Page(ctx context.Context, scan relay.Scan) ([]relay.Doc, error) {
	if s.page != nil {
		return s.page(ctx, scan)
	}
	return s.Store.Page(ctx, scan)
}

func (s *storeFunc) Count(ctx context.Context, scans ...relay.Scan) ([]int64, error) {
	if s.count != nil {
		return s.count(ctx, scans...)
	}
	return s.Store.Count(ctx, scans...)
}

// streamFunc passes each snapshot of a stream through see.
type streamFunc struct {
	relay.Stream
	see func(relay.Snapshot) relay.Snapshot
}

func (s *streamFunc) Next() (relay.Snapshot, error) {
	snap, err := s.Stream.Next()
	if err == nil {
		snap = s.see(snap)
	}
	return snap, err
}
