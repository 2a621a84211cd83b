package claims

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"
)

// calls lets calls to Firebase Auth through: at a rate, and not at all for as
// long as Auth asked to be left alone.
type calls struct {
	limiter *rate.Limiter
	metrics *metrics
	log     *zap.Logger

	mu      sync.Mutex
	resumes time.Time // zero: Auth never asked
}

const (
	// burstShare of a second's calls may come at once, so that a lone record is
	// never held up.
	burstShare = 10
	// maxRetryAfter bounds what a Retry-After can ask for.
	maxRetryAfter = time.Hour
)

func newCalls(perSecond float64, m *metrics, log *zap.Logger) *calls {
	return &calls{limiter: rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/burstShare))), metrics: m, log: log}
}

// do makes one call once its turn has come.
func (c *calls) do(ctx context.Context, name string, call func() error) error {
	if err := c.held(); err != nil {
		return err
	}
	if err := c.limiter.Wait(ctx); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("wait for a call to Auth: %w", ctx.Err())
		}
		return outage(CodeRateLimited, "wait for a call to Auth: %w", err)
	}
	if err := c.held(); err != nil { // Auth may have asked during the wait
		return err
	}
	err := call()
	c.metrics.call(name, err)
	if after := min(retryAfter(err), maxRetryAfter); after > 0 {
		c.hold(after)
	}
	return err
}

// held is an outage as long as Auth wants no call.
func (c *calls) held() error {
	c.mu.Lock()
	resumes := c.resumes
	c.mu.Unlock()
	if left := time.Until(resumes); left > 0 {
		return outage(CodeRetryAfter, "Auth asked for no call until %s", resumes.UTC().Format(time.RFC3339))
	}
	return nil
}

func (c *calls) hold(after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	resumes := time.Now().Add(after)
	if resumes.After(c.resumes) {
		c.resumes = resumes
		c.log.Warn("Firebase Auth asked to be left alone", zap.Duration("for", after))
	}
}
