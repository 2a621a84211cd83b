package publisher

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/ier"
)

// DefaultTopic is where the rows go unless another is named.
const DefaultTopic = "pf-domain-events"

// Options are what a Publisher is made of. Pool and Target must be set; any other zero field takes
// its default.
type Options struct {
	Pool   *pgxpool.Pool // of the caller, who closes it after Run; connections that take no writes are made anew
	Target ier.Target    // of the topic, which is given messages that are ready to go
	Topic  string        // its ID, for metrics and logs; "": DefaultTopic

	Batch       int           // rows of a round at most. Default 50
	Poll        time.Duration // how often the table is looked at while it is empty, give or take a quarter. Default 500 ms
	MaxAttempts int           // the refusal with this number parks the row. Default 10
	// RetryBase and RetryMax bound the waits with full jitter: of an aggregate whose head was
	// refused, and of the publisher while the topic or the database is out. Defaults 500 ms and 10 s.
	RetryBase, RetryMax time.Duration
	// ParkedFor is how long a parked row is not looked at again: a retry waits for that long at most. Default 5 s.
	ParkedFor time.Duration
	// StopWithin bounds the marks of the last round once Run is to end. Default 3 s.
	StopWithin time.Duration

	Breaker    ier.BreakerConfig     // of the topic
	Registerer prometheus.Registerer // nil: no metrics are registered
	Log        *zap.Logger           // nil: silent
	Now        func() time.Time      // of lags and waits; nil: time.Now
}

// Validate names everything that is wrong with o.
func (o Options) Validate() error {
	var errs []error
	if o.Pool == nil {
		errs = append(errs, errors.New("no database"))
	}
	if o.Target == nil {
		errs = append(errs, errors.New("no target"))
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"batch", o.Batch}, {"maximum of attempts", o.MaxAttempts}} {
		if n.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %d, want at least 1", n.name, n.value))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"poll", o.Poll}, {"first wait", o.RetryBase}, {"longest wait", o.RetryMax}, {"look at parked rows", o.ParkedFor}, {"stop", o.StopWithin}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, want more than 0", d.name, d.value))
		}
	}
	if err := o.Breaker.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("breaker: %w", err))
	}
	return errors.Join(errs...)
}

// or is value, or its default where it is zero.
func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (o Options) withDefaults() Options {
	o.Topic = or(o.Topic, DefaultTopic)
	o.Batch = or(o.Batch, 50)
	o.Poll = or(o.Poll, 500*time.Millisecond)
	o.MaxAttempts = or(o.MaxAttempts, 10)
	o.RetryBase = or(o.RetryBase, 500*time.Millisecond)
	o.RetryMax = or(o.RetryMax, 10*time.Second)
	o.ParkedFor = or(o.ParkedFor, 5*time.Second)
	o.StopWithin = or(o.StopWithin, 3*time.Second)
	o.Log = or(o.Log, zap.NewNop())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
