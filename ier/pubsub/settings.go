package pubsub

import (
	"errors"
	"fmt"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
)

// Settings are shared by all targets. A zero field takes its default.
type Settings struct {
	// Timeout bounds one publish request, whether its caller's ctx has ended or
	// not, and how long it waits for room. Default 4 s: two of them fit into the
	// 8 s that a stop may take.
	Timeout time.Duration
	// MaxMessages go into one request at most. Default 500.
	MaxMessages int
	// MaxOutstanding messages and MaxOutstandingBytes of one topic and lane are
	// on their way at most; a request that finds no room waits. Defaults 2,000 and
	// 32 MiB: a second's worth of what two cores can publish.
	MaxOutstanding      int
	MaxOutstandingBytes int

	Metrics *Metrics // nil: not registered
}

// Validate names everything that is wrong with s.
func (s Settings) Validate() error {
	var errs []error
	if s.Timeout < 0 {
		errs = append(errs, fmt.Errorf("timeout is %v, want more than 0", s.Timeout))
	}
	if s.MaxMessages < 0 || s.MaxMessages > gpubsub.MaxPublishRequestCount {
		errs = append(errs, fmt.Errorf("messages in a request are %d, want 1 to %d", s.MaxMessages, gpubsub.MaxPublishRequestCount))
	}
	if s.MaxOutstanding < 0 || s.MaxOutstandingBytes < 0 {
		errs = append(errs, fmt.Errorf("outstanding are %d messages and %d bytes, want more than 0", s.MaxOutstanding, s.MaxOutstandingBytes))
	}
	return errors.Join(errs...)
}

func (s Settings) withDefaults() Settings {
	if s.Timeout == 0 {
		s.Timeout = 4 * time.Second
	}
	if s.MaxMessages == 0 {
		s.MaxMessages = 500
	}
	if s.MaxOutstanding == 0 {
		s.MaxOutstanding = 2000
	}
	if s.MaxOutstandingBytes == 0 {
		s.MaxOutstandingBytes = 32 << 20
	}
	if s.Metrics == nil {
		s.Metrics = NewMetrics(nil)
	}
	return s
}
