package sibling

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// Config is how the siblings go about their work. A zero field means its default.
type Config struct {
	Log *zap.Logger // nil: none
	// Leads tells whether this instance does what only one may: the bulk replays,
	// alerts, releases and the queue's gauges. When it begins to, whoever says so
	// rings the bells of these. nil: it does.
	Leads func() bool

	Poll      time.Duration // looks without having been told; 15 s
	Quiet     time.Duration // a listener that tells nothing for this long is rebuilt: it may be deaf; 1 min
	RetryMin  time.Duration // between tries of a call that failed, at first; 200 ms
	RetryMax  time.Duration // and at most; 30 s
	CallBound time.Duration // a call to Firestore or Pub/Sub ends after this; 20 s
	Grace     time.Duration // for noting what was done after the stop; 3 s
}

// WithDefaults fills what is zero in.
func (c Config) WithDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Leads == nil {
		c.Leads = func() bool { return true }
	}
	Fill(c.durations())
	return c
}

// Validate says what is wrong with the settings, all at once.
func (c Config) Validate() error { return Check(c.durations()) }

func (c *Config) durations() []Duration {
	return []Duration{
		{"poll", &c.Poll, 15 * time.Second},
		{"quiet of a listener", &c.Quiet, time.Minute},
		{"shortest retry", &c.RetryMin, 200 * time.Millisecond},
		{"longest retry", &c.RetryMax, 30 * time.Second},
		{"bound of a call", &c.CallBound, 20 * time.Second},
		{"grace", &c.Grace, 3 * time.Second},
	}
}

// Duration is a setting.
type Duration struct {
	Name     string
	Value    *time.Duration
	Standard time.Duration // instead of zero
}

// Fill gives those settings that are zero their standard.
func Fill(all []Duration) {
	for _, d := range all {
		if *d.Value == 0 {
			*d.Value = d.Standard
		}
	}
}

// Check says which settings are negative.
func Check(all []Duration) error {
	var faults []error
	for _, d := range all {
		if *d.Value < 0 {
			faults = append(faults, fmt.Errorf("%s %s is negative", d.Name, *d.Value))
		}
	}
	return errors.Join(faults...)
}
