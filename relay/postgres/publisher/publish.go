package publisher

import (
	"context"
	"sync"
	"time"

	"outboxrelay/ier"
)

// publishWithin is how long a round goes on sending. The database ends a transaction that has idled for 60 s, and with
// it go all its marks: over a link too slow for a whole batch, the same rows would be published again and again. A request
// that is out when the time is over still comes to its end, which takes the topic's own timeout at most.
const publishWithin = 30 * time.Second

// publish hands the runs to the router, at the same time, and gathers what became of them. more
// tells that there are rows beside these. What is not sent when the time of the round is over stays as it was, for the next one.
func (p *Publisher) publish(ctx context.Context, runs []run, more bool) *verdict {
	sending, cancel := context.WithTimeout(ctx, p.sending)
	defer cancel()
	outcomes := make([][]ier.Outcome, len(runs))
	var calls sync.WaitGroup
	calls.Add(len(runs))
	for i, rows := range runs {
		p.workers.do(func() {
			defer calls.Done()
			outcomes[i] = p.router.Deliver(sending, p.jobs(rows, more), nil)
		})
	}
	calls.Wait()
	v := &verdict{cut: sending.Err() != nil}
	wasOut := func(at time.Time) bool { return v.cut || p.router.WasOut(p.opts.Topic, at) }
	for i, rows := range runs {
		v.judge(rows, outcomes[i], wasOut)
	}
	return v
}
