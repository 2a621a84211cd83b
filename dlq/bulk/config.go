package bulk

import (
	"errors"
	"time"

	"outboxrelay/dlq/sibling"
)

// Config is how a Runner goes about its work. A zero field means its default.
type Config struct {
	sibling.Config
	Metrics   *Metrics      // nil: counted nowhere
	RampStep  time.Duration // the rate doubles after each; 5 s
	Ask       time.Duration // between rounds of requests; 100 ms
	Follow    time.Duration // between looks at what was asked for, at first; 250 ms
	FollowMax time.Duration // and at most, while nothing ends; 5 s
	Save      time.Duration // between writes of progress; 1 s
}

// withDefaults fills what is zero in.
func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	sibling.Fill(c.durations())
	return c
}

// Validate says what is wrong with the settings, all at once.
func (c Config) Validate() error {
	return errors.Join(c.Config.Validate(), sibling.Check(c.durations()))
}

func (c *Config) durations() []sibling.Duration {
	return []sibling.Duration{
		{Name: "ramp step of bulk replays", Value: &c.RampStep, Standard: rampStep},
		{Name: "time between requests of bulk replays", Value: &c.Ask, Standard: 100 * time.Millisecond},
		{Name: "shortest look of bulk replays", Value: &c.Follow, Standard: 250 * time.Millisecond},
		{Name: "longest look of bulk replays", Value: &c.FollowMax, Standard: 5 * time.Second},
		{Name: "time between progress of bulk replays", Value: &c.Save, Standard: time.Second},
	}
}
