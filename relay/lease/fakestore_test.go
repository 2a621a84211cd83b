package lease

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"outboxrelay/dlq"
)

// fakeServer is a Firestore in memory, as far as leases need one: atomic
// commits with preconditions on update times, reads with the time of the read,
// listeners. Its clock is its own.
type fakeServer struct {
	clock    func() time.Time
	mu       sync.Mutex
	docs     map[string]map[string]dlq.Doc // by collection and ID
	skew     time.Duration                 // of its clock against the local one
	last     time.Time                     // its clock never stands still between commits
	watchers map[chan struct{}]bool
}

func newFakeServer() *fakeServer {
	return &fakeServer{clock: time.Now, docs: make(map[string]map[string]dlq.Doc), skew: -1000 * time.Hour, watchers: make(map[chan struct{}]bool)}
}

// fakeError is a failed call.
type fakeError struct {
	code    string
	refused bool
}

func (e *fakeError) Error() string       { return e.code }
func (e *fakeError) Code() string        { return e.code }
func (e *fakeError) FailureCode() string { return e.code }
func (e *fakeError) Refused() bool       { return e.refused }

var (
	errUnavailable = &fakeError{code: "Unavailable"}
	errDeadline    = &fakeError{code: "DeadlineExceeded"}
)

// jump moves the server's clock against the local one.
func (s *fakeServer) jump(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew += by
}

func (s *fakeServer) now() time.Time { return s.clock().Add(s.skew).Truncate(time.Microsecond) }

// Commit implements Store.
func (s *fakeServer) Commit(_ context.Context, writes []dlq.Write) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range writes {
		d := s.docs[w.Collection][w.ID]
		switch {
		case w.Op == dlq.OpCreate && d.Exists():
			return time.Time{}, &fakeError{"AlreadyExists", true}
		case w.Op == dlq.OpUpdate && !d.Exists():
			return time.Time{}, &fakeError{"NotFound", true}
		case !w.IfUnchangedSince.IsZero() && !w.IfUnchangedSince.Equal(d.UpdateTime):
			return time.Time{}, &fakeError{"FailedPrecondition", true}
		}
	}
	at := s.now()
	if !at.After(s.last) {
		at = s.last.Add(time.Microsecond)
	}
	s.last = at
	for _, w := range writes {
		s.apply(w, at)
	}
	for c := range s.watchers {
		signal(c)
	}
	return at, nil
}

func (s *fakeServer) apply(w dlq.Write, at time.Time) {
	if s.docs[w.Collection] == nil {
		s.docs[w.Collection] = make(map[string]dlq.Doc)
	}
	if w.Op == dlq.OpDelete {
		delete(s.docs[w.Collection], w.ID)
		return
	}
	d := s.docs[w.Collection][w.ID]
	fields := maps.Clone(d.Fields)
	if fields == nil || w.Op == dlq.OpSet {
		fields = make(map[string]any)
	}
	for name, v := range w.Fields {
		fields[name] = stored(v, at)
	}
	s.docs[w.Collection][w.ID] = dlq.Doc{ID: w.ID, Fields: fields, UpdateTime: at}
}

// stored is a value as it is read again.
func stored(v any, at time.Time) any {
	switch v := v.(type) {
	case dlq.ServerTime:
		return at
	case int:
		return int64(v)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	}
	return v
}

// Get implements Store.
func (s *fakeServer) Get(_ context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]dlq.Doc, len(ids))
	for i, id := range ids {
		out[i] = s.docs[collection][id]
		out[i].ID, out[i].ReadTime = id, s.now()
	}
	return out, nil
}

// Query implements Store: of a whole collection.
func (s *fakeServer) Query(_ context.Context, q dlq.Query) ([]dlq.Doc, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.SortedFunc(maps.Values(s.docs[q.Collection]), func(a, b dlq.Doc) int { return cmp.Compare(a.ID, b.ID) })
	for i := range out {
		out[i].ReadTime = s.now()
	}
	return out, nil
}

// Watch implements Store.
func (s *fakeServer) Watch(ctx context.Context, q dlq.Query, f func([]dlq.Doc)) error {
	changed := make(chan struct{}, 1)
	signal(changed)
	s.mu.Lock()
	s.watchers[changed] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, changed)
	}()
	for {
		select {
		case <-ctx.Done():
			return errors.New("listener ended")
		case <-changed:
			docs, _ := s.Query(ctx, q)
			f(docs)
		}
	}
}
