package workqueue

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// Config is what a queue runs with.
type Config struct {
	Client     *firestore.Client // the caller's, who closes it after Run has returned
	Vocabulary Vocabulary
	Handler    Handler
	// WorkerPrefix begins the tokens of this instance's claims; "": the queue's name.
	WorkerPrefix string
	Tuning       Tuning
	Metrics      *Metrics     // of NewMetrics, shared by all queues of a process; nil: none
	Tracer       trace.Tracer // nil: no traces
	Log          *zap.Logger  // nil: silent
}

// Tuning has defaults for what is zero.
type Tuning struct {
	Workers    int           // documents at once; 16
	Batch      int           // documents of one tenant in one round; 50
	Every      time.Duration // between rounds that found nothing left behind; one minute
	Window     int           // documents that the listener holds; 1,000
	StopBudget time.Duration // how long a stop waits for handlers; 5 s
	// Stagger is the longest that a claim waits after a race was lost to another
	// instance; 100 ms.
	Stagger time.Duration
	// ProofAge is how long a document must have been there for a listener that does not
	// show it to be held silent: longer than a snapshot ever takes; 15 s.
	ProofAge time.Duration
	// Backoff and BackoffMax space the tries at whatever Firestore refused; 100 ms, 15 s.
	Backoff, BackoffMax time.Duration
	// RecycleAfter is how old a listener's stream becomes; 30 minutes.
	RecycleAfter time.Duration
}

func (t Tuning) withDefaults() Tuning {
	t.Workers = cmp.Or(t.Workers, 16)
	t.Batch = cmp.Or(t.Batch, 50)
	t.Every = cmp.Or(t.Every, time.Minute)
	t.Window = cmp.Or(t.Window, 1000)
	t.StopBudget = cmp.Or(t.StopBudget, 5*time.Second)
	t.Stagger = cmp.Or(t.Stagger, 100*time.Millisecond)
	t.ProofAge = cmp.Or(t.ProofAge, 15*time.Second)
	t.Backoff = cmp.Or(t.Backoff, 100*time.Millisecond)
	t.BackoffMax = cmp.Or(t.BackoffMax, 15*time.Second)
	t.RecycleAfter = cmp.Or(t.RecycleAfter, 30*time.Minute)
	return t
}

func (c *Config) validate() error {
	if c.Client == nil || c.Handler == nil {
		return errors.New("workqueue: Client and Handler are needed")
	}
	if err := c.Vocabulary.validate(); err != nil {
		return fmt.Errorf("workqueue: vocabulary of %q: %w", c.Vocabulary.Queue, err)
	}
	return nil
}

// NewMetrics makes the metrics of a process's queues and registers them with reg.
func NewMetrics(reg prometheus.Registerer) *Metrics { return newMetrics(reg) }
