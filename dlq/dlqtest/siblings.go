package dlqtest

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/bulk"
	"outboxrelay/dlq/freezer"
	"outboxrelay/dlq/replayer"
	"outboxrelay/dlq/review"
	"outboxrelay/dlq/sibling"
)

// Config is how the siblings of a test go about their work. A zero field means its
// default; see the packages of the siblings.
type Config struct {
	sibling.Config
	Metrics Metrics

	Concurrency                            int
	PauseMin, PauseMax                     time.Duration
	GaugeEvery                             time.Duration
	RampStep, Ask, Follow, FollowMax, Save time.Duration
}

// Metrics are those of the siblings; nil: none.
type Metrics struct {
	Replays *replayer.Metrics
	Bulks   *bulk.Metrics
	Queue   *review.Metrics
	Freezes *freezer.Metrics
}

// NewMetrics registers the siblings' metrics.
func NewMetrics(reg prometheus.Registerer) Metrics {
	return Metrics{replayer.NewMetrics(reg), bulk.NewMetrics(reg), review.NewMetrics(reg), freezer.NewMetrics(reg)}
}

// Replayer joins the sibling that replays SAFE_AUTO.
func Replayer(queue *dlq.Queue, lanes replayer.Lanes, c Config) (*replayer.Replayer, error) {
	return c.replayer(queue, lanes, contracts.SafeAuto)
}

func (c Config) replayer(queue *dlq.Queue, lanes replayer.Lanes, tier contracts.Tier) (*replayer.Replayer, error) {
	return replayer.New(queue, lanes, tier, replayer.Config{
		Config: c.Config, Metrics: c.Metrics.Replays, Concurrency: c.Concurrency, PauseMin: c.PauseMin, PauseMax: c.PauseMax,
	})
}

// Replays joins the part of the review queue that delivers what somebody asked for.
func Replays(queue *dlq.Queue, lanes replayer.Lanes, c Config) (*replayer.Replayer, error) {
	return c.replayer(queue, lanes, contracts.ReviewRequired)
}

// BulkConfig is how bulk replays are run.
func (c Config) BulkConfig() bulk.Config {
	return bulk.Config{
		Config: c.Config, Metrics: c.Metrics.Bulks, RampStep: c.RampStep, Ask: c.Ask, Follow: c.Follow, FollowMax: c.FollowMax, Save: c.Save,
	}
}

// Review joins the sibling of the review queue, with the bulk replays.
func Review(queue *dlq.Queue, lanes replayer.Lanes, c Config) (*review.Review, error) {
	replays, err := c.replayer(queue, lanes, contracts.ReviewRequired)
	if err != nil {
		return nil, err
	}
	bulks, err := bulk.New(queue, c.BulkConfig())
	if err != nil {
		return nil, err
	}
	return review.New(queue, review.Config{Config: c.Config, Metrics: c.Metrics.Queue, GaugeEvery: c.GaugeEvery}, replays, bulks)
}

// Freezer joins the sibling of SECURITY_BLOCK.
func Freezer(queue *dlq.Queue, lanes replayer.Lanes, alerts freezer.Alerts, c Config) (*freezer.Freezer, error) {
	replays, err := c.replayer(queue, lanes, contracts.SecurityBlock)
	if err != nil {
		return nil, err
	}
	return freezer.New(queue, alerts, freezer.Config{Config: c.Config, Metrics: c.Metrics.Freezes}, replays)
}

// Start runs a sibling until stop, which waits for its end, or the test's end. It
// takes what a constructor returns.
func (f *Fixture) Start(s sibling.Part, err error) (stop func()) {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			f.T.Errorf("sibling ended with %v", err)
		}
	})
	f.T.Cleanup(stop)
	return stop
}

// Replayer starts the sibling that replays SAFE_AUTO.
func (f *Fixture) Replayer() (stop func()) {
	f.T.Helper()
	r, err := Replayer(f.Queue, f.Lanes, f.Config)
	return f.Start(r, err)
}

// Review starts the sibling of the review queue.
func (f *Fixture) Review() (stop func()) {
	f.T.Helper()
	r, err := Review(f.Queue, f.Lanes, f.Config)
	return f.Start(r, err)
}

// Freezer starts the sibling of SECURITY_BLOCK.
func (f *Fixture) Freezer(alerts freezer.Alerts) (stop func()) {
	f.T.Helper()
	r, err := Freezer(f.Queue, f.Lanes, alerts, f.Config)
	return f.Start(r, err)
}
