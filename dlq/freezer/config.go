package freezer

import "outboxrelay/dlq/sibling"

// Config is how a Freezer goes about its work. A zero field means its default.
type Config struct {
	sibling.Config
	Metrics *Metrics // nil: counted nowhere
}

// withDefaults fills what is zero in.
func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	return c
}
