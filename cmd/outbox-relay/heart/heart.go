// Package heart notices that the process stands still, for whoever can restart it.
package heart

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/web"
	"outboxrelay/relay"
)

// Heart tells whether the process still goes on by itself. A platform kills what
// is not alive without letting it drain, so only what nothing but a restart can
// mend may stop it: a goroutine that waits for something that never comes, be
// it a lock or a log that nobody reads. Firestore, Pub/Sub or Auth that is away
// does not: all calls to them are bounded, and who makes them beats between them.
type Heart struct {
	log   *zap.Logger
	epoch time.Time // beats are told as the time since it: a step of the clock is none of theirs

	mu    sync.Mutex
	signs []*Sign
	told  bool // that it stands still
	rests atomic.Bool
}

// Sign is the sign of life of one goroutine, or of all that one loop passes by.
type Sign struct {
	heart    *Heart
	name     string
	patience time.Duration // without a beat, from which on it is stuck
	last     atomic.Int64
	beats    atomic.Int64
}

// New makes a heart that expects nothing yet. log is told what is stuck.
func New(log *zap.Logger) *Heart { return &Heart{log: log, epoch: time.Now()} }

// Watch expects beats from the first one on: what has not begun may wait for
// Firestore, however long. A nil heart expects none.
func (h *Heart) Watch(name string, patience time.Duration) *Sign {
	if h == nil {
		return nil
	}
	s := &Sign{heart: h, name: name, patience: patience}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.signs = append(h.signs, s)
	return s
}

// Beat says that it goes on. It never blocks.
func (s *Sign) Beat() {
	if s == nil {
		return
	}
	s.last.Store(int64(time.Since(s.heart.epoch)))
	s.beats.Add(1)
}

// Beats is how many beats there have been.
func (s *Sign) Beats() int64 { return s.beats.Load() }

func (s *Sign) silent() time.Duration {
	return time.Since(s.heart.epoch) - time.Duration(s.last.Load())
}

// Rest ends what is expected: the process stops, and has its own time for that.
func (h *Heart) Rest() {
	if h != nil {
		h.rests.Store(true)
	}
}

// stuck names what has not beaten for longer than its patience.
func (h *Heart) stuck() (what string, silent time.Duration) {
	if h.rests.Load() {
		return "", 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.signs {
		if silent := s.silent(); silent > s.patience && s.Beats() > 0 {
			return s.name, silent
		}
	}
	return "", 0
}

// ServeHTTP answers 503 when something is stuck. The first time it also logs
// where all goroutines stand, as nobody can ask the process once it is killed;
// after the answer, since the log may be what is stuck.
func (h *Heart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what, silent := h.stuck()
	news := h.tell(what != "")
	if what == "" {
		web.Alive(w, r)
		return
	}
	web.WriteProblem(w, r, http.StatusServiceUnavailable, fmt.Sprintf("%s: no sign of life for %s", what, silent.Round(time.Second)))
	if !news {
		return
	}
	_ = http.NewResponseController(w).Flush() // or else the client would wait for the log
	h.log.Error("stuck: only a restart can mend this", zap.String("what", what), zap.Duration("silent", silent), zap.String("goroutines", goroutines()))
}

// tell notes whether it is stuck, and reports whether that is news.
func (h *Heart) tell(stuck bool) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news = stuck && !h.told
	h.told = stuck
	return news
}

const (
	// pulseEvery is the pace at which the relay is asked how it does.
	pulseEvery = 5 * time.Second
	// relayPatience is for that question, which takes every lock there is and
	// does no I/O. It leaves room for a machine that is starved for a while.
	relayPatience = time.Minute
)

// Feel asks the relay again and again how it does, until ctx ends: no answer
// means that a lock is held for good.
func (h *Heart) Feel(ctx context.Context, r interface{ Health() relay.Health }) error {
	if h == nil {
		return nil
	}
	asked := h.Watch("relay", relayPatience)
	asked.Beat()
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	for {
		r.Health()
		asked.Beat()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
