package workqueue

import (
	"context"
	"errors"
	"sync"
	"time"

	"cloud.google.com/go/firestore"
	"go.uber.org/zap"
)

// listener shows pending documents at once: the newest of them, so that none of a
// tenant's thousands hides another's new one. Whatever ends its stream, it opens
// another one, with a context of its own.
type listener struct {
	q *Queue

	mu     sync.Mutex
	shown  map[string]bool         // in the window now; nil: no stream has told
	end    context.CancelCauseFunc // of the stream that is open
	opened time.Time
	open   bool // a stream is, though it may have been told to end

	rebuilds int    // since the start
	reason   string // of the last
}

var (
	errSilent   = errors.New("a round found what the listener did not show")
	errRecycled = errors.New("the listener is old enough")
)

func (l *listener) run(ctx context.Context) {
	delay := newDelay(l.q.tuning)
	for ctx.Err() == nil {
		err := l.q.guard(partListener, func() error { return l.once(ctx, delay) })
		if ctx.Err() != nil {
			return
		}
		reason := rebuiltEnded
		switch {
		case errors.Is(err, errSilent):
			reason = rebuiltSilent
		case errors.Is(err, errRecycled):
			reason = rebuiltRecycled
		}
		l.q.metrics.rebuilds.WithLabelValues(reason).Inc()
		l.rebuilt(reason)
		if reason == rebuiltRecycled {
			continue
		}
		l.q.log.Warn("listener ended, rebuilding it", zap.String("reason", reason), zap.Error(err))
		delay.sleep(ctx)
	}
}

// once opens a stream and reads it to its end. Ending its context is what frees it:
// the SDK's Stop only half closes it.
func (l *listener) once(ctx context.Context, delay *retryDelay) error {
	stream, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	recycle := time.AfterFunc(l.q.tuning.RecycleAfter, func() { cancel(errRecycled) })
	defer recycle.Stop()
	l.begin(cancel)
	defer l.begin(nil)
	v := &l.q.vocabulary
	it := l.q.documents().Where(v.Fields.Status, "==", v.Pending).OrderBy(v.Fields.CreatedAt, firestore.Desc).Limit(l.q.tuning.Window).Snapshots(stream)
	for {
		snap, err := it.Next()
		if err != nil {
			if cause := context.Cause(stream); cause != nil {
				return cause
			}
			return err
		}
		delay.reset()
		l.told(snap)
	}
}

// begin tells which stream is open; nil: none.
func (l *listener) begin(end context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown, l.end, l.opened, l.open = nil, end, time.Now(), end != nil
}

func (l *listener) told(snap *firestore.QuerySnapshot) {
	l.q.metrics.reads.WithLabelValues(byListener).Add(float64(len(snap.Changes)))
	full := snap.Size >= l.q.tuning.Window
	l.mu.Lock()
	if l.shown == nil {
		l.shown = map[string]bool{}
	}
	for _, c := range snap.Changes {
		if c.Kind == firestore.DocumentRemoved {
			delete(l.shown, relative(c.Doc.Ref))
		} else {
			l.shown[relative(c.Doc.Ref)] = true
		}
	}
	l.mu.Unlock()
	for _, c := range snap.Changes {
		switch {
		case c.Kind != firestore.DocumentRemoved:
			// What is due later was read when this snapshot was made.
			doc := *c.Doc
			doc.ReadTime = snap.ReadTime
			l.q.found(&doc, byListener)
		case !full: // else it may be pending and newer ones have taken its place
			l.q.mu.Lock()
			l.q.line.gone(relative(c.Doc.Ref))
			l.q.mu.Unlock()
		}
	}
}

// prove judges the listener by a document that a round has found, and has it
// rebuilt if it should have shown it long since.
func (l *listener) prove(s *state) {
	if !s.pending || s.created.IsZero() || s.read.Sub(s.updated) < l.q.tuning.ProofAge {
		return
	}
	l.q.mu.Lock()
	known := l.q.line.knows(s.path)
	l.q.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if known || l.end == nil || l.shown[s.path] || len(l.shown) >= l.q.tuning.Window || time.Since(l.opened) < l.q.tuning.ProofAge {
		return
	}
	l.end(errSilent)
	l.end = nil
}
