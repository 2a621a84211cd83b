package pubsub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// SamplerConfig is how lag samples travel. Only Topic must be set; a zero field
// takes its default.
type SamplerConfig struct {
	Topic string // ID without its project
	// A message is sent when it holds MaxSamples or MaxBytes, or Linger after its
	// first sample. Defaults 500, 256 KiB and 1 s.
	MaxSamples int
	MaxBytes   int
	Linger     time.Duration
	// Buffer is how many samples wait for their message; a sample that finds it
	// full is lost. Default 8,192, some seconds of full load.
	Buffer int
	// Timeout bounds the publishing of one message. Default 4 s.
	Timeout time.Duration

	Metrics *Metrics    // nil: not registered
	Log     *zap.Logger // nil: silent
}

// Validate names everything that is wrong with c.
func (c SamplerConfig) Validate() error {
	var errs []error
	if c.Topic == "" {
		errs = append(errs, errors.New("no topic"))
	}
	if c.MaxSamples < 0 || c.MaxBytes < 0 || c.Linger < 0 || c.Buffer < 0 || c.Timeout < 0 {
		errs = append(errs, errors.New("a bound is negative"))
	}
	return errors.Join(errs...)
}

func (c SamplerConfig) withDefaults() SamplerConfig {
	if c.MaxSamples == 0 {
		c.MaxSamples = 500
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 256 << 10
	}
	if c.Linger == 0 {
		c.Linger = time.Second
	}
	if c.Buffer == 0 {
		c.Buffer = 8192
	}
	if c.Timeout == 0 {
		c.Timeout = 4 * time.Second
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}

// Sampler publishes lag samples as lines of JSON, many to a message. Its one
// goroutine has one message on its way at a time; whatever the topic does,
// Sample returns at once.
type Sampler struct {
	cfg     SamplerConfig
	publish func(context.Context, *contracts.Message) error

	mu      sync.RWMutex // guards closed against samples
	closed  bool
	samples chan *ier.LagSample // closed by Close
	spare   sync.Pool           // of *ier.LagSample: a buffer of samples themselves would be 1.6 MiB, full or not
	done    chan struct{}       // closed when the goroutine has ended
	abandon context.CancelFunc  // ends the flush that Close waited for

	published, overflowed, refused prometheus.Counter
}

// NewSampler starts a sampler that publishes through client. Close ends it.
func NewSampler(client *gpubsub.Client, cfg SamplerConfig) (*Sampler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure sampler: %w", err)
	}
	cfg = cfg.withDefaults()
	topic := topicName(client, cfg.Topic)
	return newSampler(cfg, func(ctx context.Context, m *contracts.Message) error {
		ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
		defer cancel()
		return publish(ctx, client.TopicAdminClient, topic, []*contracts.Message{m})
	}).start(), nil
}

func newSampler(cfg SamplerConfig, publish func(context.Context, *contracts.Message) error) *Sampler {
	s := &Sampler{
		cfg: cfg, publish: publish,
		samples:    make(chan *ier.LagSample, cfg.Buffer),
		spare:      sync.Pool{New: func() any { return new(ier.LagSample) }},
		done:       make(chan struct{}),
		published:  cfg.Metrics.samples.WithLabelValues(samplesPublished),
		overflowed: cfg.Metrics.samples.WithLabelValues(samplesOverflowed),
		refused:    cfg.Metrics.samples.WithLabelValues(samplesRefused),
	}
	return s
}

// start runs the sampler's goroutine, which Close ends.
func (s *Sampler) start() *Sampler {
	ctx, abandon := context.WithCancel(context.Background())
	s.abandon = abandon
	go s.run(ctx)
	return s
}

// Sample takes one sample, or counts it as lost when the buffer is full or the
// sampler closed.
func (s *Sampler) Sample(sample ier.LagSample) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		s.overflowed.Inc()
		return
	}
	waits := s.spare.Get().(*ier.LagSample)
	*waits = sample
	select {
	case s.samples <- waits:
	default:
		s.spare.Put(waits)
		s.overflowed.Inc()
	}
}

// Close publishes what is buffered. When ctx ends first the rest is lost and
// counted, and Close returns an error.
func (s *Sampler) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.samples)
	}
	s.mu.Unlock()
	defer s.abandon()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush lag samples: %w", ctx.Err())
	}
}

// run gathers samples into messages until Close. Once ctx has ended it only
// counts them.
func (s *Sampler) run(ctx context.Context) {
	defer close(s.done)
	var (
		lines  bytes.Buffer
		encode = json.NewEncoder(&lines)
		count  int
		linger = time.NewTimer(s.cfg.Linger)
	)
	linger.Stop()
	defer linger.Stop()
	flush := func() {
		linger.Stop()
		if count > 0 {
			s.send(ctx, lines.Bytes(), count)
		}
		lines.Reset()
		count = 0
	}
	for {
		select {
		case sample, open := <-s.samples:
			if !open {
				flush()
				return
			}
			err := encode.Encode(sample) // and a line's end; nothing if it fails
			*sample = ier.LagSample{}    // or a spare one would keep its strings
			s.spare.Put(sample)
			if err != nil {
				s.refused.Inc()
				continue
			}
			if count == 0 {
				linger.Reset(s.cfg.Linger)
			}
			count++
			if count >= s.cfg.MaxSamples || lines.Len() >= s.cfg.MaxBytes {
				flush()
			}
		case <-linger.C:
			flush()
		}
	}
}

// send publishes one message, which has lines until then, and waits for its answer. A message that the topic
// refuses is lost: samples are worth no retry.
func (s *Sampler) send(ctx context.Context, lines []byte, count int) {
	if ctx.Err() != nil {
		s.refused.Add(float64(count))
		return
	}
	err := s.publish(ctx, &contracts.Message{
		Data: lines,
		Attributes: map[string]string{
			"metric":      "relay_lag",
			"contentType": "application/x-ndjson",
			"samples":     strconv.Itoa(count),
		},
	})
	if err != nil {
		s.refused.Add(float64(count))
		s.cfg.Log.Debug("lag samples lost", zap.Int("samples", count), zap.String("code", classify(err).Code))
		return
	}
	s.published.Add(float64(count))
}
