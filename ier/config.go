package ier

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Config is what a Router is made of. Only Targets must be set.
type Config struct {
	Targets map[string]Target
	// Catalog bounds the event_type label and names the series that start at
	// zero. New refuses a catalog with a target that Targets lacks. Without a
	// catalog every event type is labelled "other".
	Catalog    *contracts.Catalog
	Breaker    BreakerConfig
	Sampler    Sampler               // nil: samples only feed the metrics
	Registerer prometheus.Registerer // nil: the metrics are not registered
	Log        *zap.Logger           // nil: silent
	Now        func() time.Time      // the clock of lag and failures; nil: time.Now
	Tracer     trace.Tracer          // makes the spans of attempts; nil: none
}

// BreakerConfig says when a target counts as out, and for how long it is left
// alone. A zero field takes its default.
type BreakerConfig struct {
	// Consecutive calls that ended in an outage trip the breaker, however long
	// they took to come together. Default 5.
	Consecutive int
	// Ratio of the calls within Window trips it too, once there were MinCalls.
	// Defaults: half of at least 10 calls within 10 s.
	Ratio    float64
	MinCalls int
	Window   time.Duration
	// OpenFor is how long no call passes before one probe does. Default 2 s:
	// the wait after an outage ends is well inside every lane's alarm, and one
	// probe in 2 s is no load for a target that struggles.
	OpenFor time.Duration
}

// breakerBuckets is the resolution of BreakerConfig.Window.
const breakerBuckets = 10

func (c BreakerConfig) withDefaults() BreakerConfig {
	if c.Consecutive == 0 {
		c.Consecutive = 5
	}
	if c.Ratio == 0 {
		c.Ratio = 0.5
	}
	if c.MinCalls == 0 {
		c.MinCalls = 10
	}
	if c.Window == 0 {
		c.Window = 10 * time.Second
	}
	if c.OpenFor == 0 {
		c.OpenFor = 2 * time.Second
	}
	return c
}

// Validate names everything that is wrong with c.
func (c BreakerConfig) Validate() error {
	var errs []error
	if c.Consecutive < 0 {
		errs = append(errs, fmt.Errorf("consecutive is %d, want at least 1", c.Consecutive))
	}
	if c.Ratio < 0 || c.Ratio > 1 {
		errs = append(errs, fmt.Errorf("ratio is %g, want 0 to 1", c.Ratio))
	}
	if c.MinCalls < 0 {
		errs = append(errs, fmt.Errorf("minimum of calls is %d, want at least 1", c.MinCalls))
	}
	if c.Window < 0 || c.Window > 0 && c.Window < breakerBuckets*time.Millisecond {
		errs = append(errs, fmt.Errorf("window is %v, want at least %v", c.Window, breakerBuckets*time.Millisecond))
	}
	if c.OpenFor < 0 {
		errs = append(errs, fmt.Errorf("open time is %v, want more than 0", c.OpenFor))
	}
	return errors.Join(errs...)
}

// Validate names everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if len(c.Targets) == 0 {
		errs = append(errs, errors.New("no targets"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Targets)) {
		if c.Targets[name] == nil {
			errs = append(errs, fmt.Errorf("target %s is nil", name))
		}
	}
	if c.Catalog != nil {
		for _, name := range slices.Sorted(maps.Keys(c.Catalog.Targets)) {
			if _, ok := c.Targets[name]; !ok {
				errs = append(errs, fmt.Errorf("target %s of the catalog has no implementation", name))
			}
		}
	}
	if err := c.Breaker.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("breaker: %w", err))
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Breaker = c.Breaker.withDefaults()
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}
