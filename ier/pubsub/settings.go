package pubsub

import (
	"errors"
	"fmt"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Settings are shared by all targets. A zero field takes its default.
type Settings struct {
	// Lanes gives each lane's PublishDelay; nil means no delay in any.
	Lanes map[contracts.Lane]contracts.LanePolicy
	// Timeout bounds one publish request, and how long a call waits for room
	// and, once its ctx has ended, for answers. Default 4 s: two of them fit into
	// the 8 s that a stop may take.
	Timeout time.Duration
	// MaxMessages go into one request at most. Default 500.
	MaxMessages int
	// MaxOutstanding messages and MaxOutstandingBytes of one topic and lane are
	// on their way at most; a call that finds no room waits. Defaults 2,000 and
	// 32 MiB: a second's worth of what two cores can publish.
	MaxOutstanding      int
	MaxOutstandingBytes int

	Metrics *Metrics    // nil: not registered
	Log     *zap.Logger // nil: silent
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
	for lane, policy := range s.Lanes {
		if policy.PublishDelay < 0 {
			errs = append(errs, fmt.Errorf("publish delay of %s is %v, want 0 or more", lane, policy.PublishDelay))
		}
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
	if s.Log == nil {
		s.Log = zap.NewNop()
	}
	return s
}

// publish are the settings of the client's publisher for one lane.
func (s Settings) publish(lane contracts.Lane) gpubsub.PublishSettings {
	return gpubsub.PublishSettings{
		DelayThreshold: s.Lanes[lane].PublishDelay,
		CountThreshold: s.MaxMessages,
		ByteThreshold:  gpubsub.DefaultPublishSettings.ByteThreshold,
		// A request that waits for one of these is outside Timeout, so there is
		// one for every message that flow control lets in.
		NumGoroutines: s.MaxOutstanding,
		Timeout:       s.Timeout,
		FlowControlSettings: gpubsub.FlowControlSettings{
			MaxOutstandingMessages: s.MaxOutstanding,
			MaxOutstandingBytes:    s.MaxOutstandingBytes,
			LimitExceededBehavior:  gpubsub.FlowControlBlock,
		},
	}
}
