package review

import (
	"errors"
	"time"

	"outboxrelay/dlq/sibling"
)

// Config is how a Review goes about its work. A zero field means its default.
type Config struct {
	sibling.Config
	Metrics    *Metrics      // nil: counted nowhere
	GaugeEvery time.Duration // between counts of the queue; 30 s
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
	return []sibling.Duration{{Name: "time between gauges", Value: &c.GaugeEvery, Standard: 30 * time.Second}}
}
