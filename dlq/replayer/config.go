package replayer

import (
	"errors"
	"fmt"
	"time"

	"outboxrelay/dlq/sibling"
)

// Config is how a Replayer goes about its work. A zero field means its default.
type Config struct {
	sibling.Config
	Metrics     *Metrics      // shared by the Replayers of all tiers; nil: counted nowhere
	Concurrency int           // replays of one lane at the same time; 64
	PauseMin    time.Duration // between tries of a replay that an outage stops, at first; 1 s
	PauseMax    time.Duration // and at most; 30 s
}

// withDefaults fills what is zero in.
func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	sibling.Fill(c.durations())
	return c
}

// Validate says what is wrong with the settings, all at once.
func (c Config) Validate() error {
	faults := []error{c.Config.Validate(), sibling.Check(c.durations())}
	if c.Concurrency < 0 {
		faults = append(faults, fmt.Errorf("concurrency %d is negative", c.Concurrency))
	}
	return errors.Join(faults...)
}

func (c *Config) durations() []sibling.Duration {
	return []sibling.Duration{
		{Name: "shortest pause", Value: &c.PauseMin, Standard: time.Second},
		{Name: "longest pause", Value: &c.PauseMax, Standard: 30 * time.Second},
	}
}
