package pubsub

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// room bounds what is on its way to one topic in one lane, in messages and in
// bytes. Both are taken in this order by everybody, and neither in parts, so
// whoever waits for bytes waits for requests that have all they need.
type room struct {
	messages, bytes *semaphore.Weighted
	maxBytes        int64
	timeout         time.Duration
}

func newRoom(messages, bytes int, timeout time.Duration) *room {
	return &room{
		messages: semaphore.NewWeighted(int64(messages)), bytes: semaphore.NewWeighted(int64(bytes)),
		maxBytes: int64(bytes), timeout: timeout,
	}
}

// take waits for room until ctx ends, at most for the timeout. What is larger
// than all the room takes all of it. leave gives back what take took and must be
// called with the same figures.
func (r *room) take(ctx context.Context, messages, bytes int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.messages.TryAcquire(int64(messages)) {
		if r.bytes.TryAcquire(r.weight(bytes)) {
			return nil
		}
		r.messages.Release(int64(messages))
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.messages.Acquire(ctx, int64(messages)); err != nil {
		return err
	}
	if err := r.bytes.Acquire(ctx, r.weight(bytes)); err != nil {
		r.messages.Release(int64(messages))
		return err
	}
	return nil
}

func (r *room) leave(messages, bytes int) {
	r.bytes.Release(r.weight(bytes))
	r.messages.Release(int64(messages))
}

func (r *room) weight(bytes int) int64 { return min(int64(bytes), r.maxBytes) }
