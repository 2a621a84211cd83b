package dlq

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// SiblingConfig is how the replayer, the review queue and the freezer go about
// their work. A zero field means its default.
type SiblingConfig struct {
	Log     *zap.Logger // nil: none
	Metrics *Metrics    // shared by the siblings; nil: counted nowhere
	// Leads tells whether this instance does what only one may: the bulk replays,
	// alerts, releases and the queue's gauges. When it begins to, whoever says so
	// rings the bells of these. nil: it does.
	Leads func() bool

	Concurrency int           // replays of one lane at the same time; 64
	Poll        time.Duration // looks without having been told; 15 s
	Quiet       time.Duration // a listener that tells nothing for this long is rebuilt: it may be deaf; 1 min
	PauseMin    time.Duration // between tries of a replay that an outage stops, at first; 1 s
	PauseMax    time.Duration // and at most; 30 s
	RetryMin    time.Duration // between tries of a call that failed, at first; 200 ms
	RetryMax    time.Duration // and at most; 30 s
	CallBound   time.Duration // a call to Firestore or Pub/Sub ends after this; 20 s
	Grace       time.Duration // for noting how a replay ended after the stop; 3 s
	GaugeEvery  time.Duration // between counts of the queue; 30 s
	Bulk        BulkPace
}

// BulkPace is how a bulk replay speeds up and looks around. A zero field means
// its default.
type BulkPace struct {
	RampStep  time.Duration // the rate doubles after each; 5 s
	Ask       time.Duration // between rounds of requests; 100 ms
	Follow    time.Duration // between looks at what was asked for, at first; 250 ms
	FollowMax time.Duration // and at most, while nothing ends; 5 s
	Save      time.Duration // between writes of progress; 1 s
}

// withDefaults fills what is zero in.
func (c SiblingConfig) withDefaults() SiblingConfig {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Leads == nil {
		c.Leads = func() bool { return true }
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	for _, d := range c.durations() {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	return c
}

// Validate says what is wrong with the settings, all at once.
func (c SiblingConfig) Validate() error {
	var faults []error
	if c.Concurrency < 0 {
		faults = append(faults, fmt.Errorf("concurrency %d is negative", c.Concurrency))
	}
	for _, d := range c.durations() {
		if *d.value < 0 {
			faults = append(faults, fmt.Errorf("%s %s is negative", d.name, *d.value))
		}
	}
	return errors.Join(faults...)
}

type namedDuration struct {
	name     string
	value    *time.Duration
	standard time.Duration
}

func (c *SiblingConfig) durations() []namedDuration {
	return []namedDuration{
		{"poll", &c.Poll, 15 * time.Second},
		{"quiet of a listener", &c.Quiet, time.Minute},
		{"shortest pause", &c.PauseMin, time.Second},
		{"longest pause", &c.PauseMax, 30 * time.Second},
		{"shortest retry", &c.RetryMin, 200 * time.Millisecond},
		{"longest retry", &c.RetryMax, 30 * time.Second},
		{"bound of a call", &c.CallBound, 20 * time.Second},
		{"grace", &c.Grace, 3 * time.Second},
		{"time between gauges", &c.GaugeEvery, 30 * time.Second},
		{"ramp step of bulk replays", &c.Bulk.RampStep, rampStep},
		{"time between requests of bulk replays", &c.Bulk.Ask, 100 * time.Millisecond},
		{"shortest look of bulk replays", &c.Bulk.Follow, 250 * time.Millisecond},
		{"longest look of bulk replays", &c.Bulk.FollowMax, 5 * time.Second},
		{"time between progress of bulk replays", &c.Bulk.Save, time.Second},
	}
}
