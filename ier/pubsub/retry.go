package pubsub

import (
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The client's own policy repeats a failed publish, after up to 0.1, 0.4, 1.6 s
// and so on, until its time is up, and then reports DeadlineExceeded whatever
// the cause was. Four seconds of that would hide an outage from the breaker for
// as long, hold a lane's worker meanwhile, and lose the reason.
//
// So a publish is repeated once, at once, and only where the first failure is
// most likely the end of a connection rather than of the service. Everything
// slower is the business of the breaker and of the lane's backoff, which
// see the whole picture. A repeat of a publish that did arrive makes a
// duplicate; so would the lane's retry, and consumers know it by its eventId.
const (
	publishRetries    = 1
	publishRetryPause = 50 * time.Millisecond // at most; jittered
)

func publishCallOptions() []gax.CallOption {
	return []gax.CallOption{gax.WithRetry(func() gax.Retryer {
		return &publishRetryer{left: publishRetries, pause: gax.Backoff{Initial: publishRetryPause, Max: publishRetryPause}}
	})}
}

// publishRetryer decides on the retries of one publish call.
type publishRetryer struct {
	left  int
	pause gax.Backoff
}

func (r *publishRetryer) Retry(err error) (time.Duration, bool) {
	if r.left == 0 {
		return 0, false
	}
	// The connection was closed under the call. Codes that count as an attempt
	// are never repeated here: one attempt is one call.
	if status.Code(err) == codes.Unavailable {
		r.left--
		return r.pause.Pause(), true
	}
	return 0, false
}
