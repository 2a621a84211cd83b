package relay

import (
	"context"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/ier"
	"outboxrelay/lanes"
)

// replay is one round of a dead letter's replay, as a task in its lane. Fields
// above the line do not change; those below are its worker's.
type replay struct {
	item  *dlq.Item
	rec   *contracts.Record
	data  []byte // its envelope
	lane  contracts.Lane
	share contracts.Share
	task  lanes.Task
	// missing is what the round set out for. unrouted tells of pending targets
	// that it could not set out for.
	missing  []string
	unrouted []contracts.AttemptError
	trail    *trail // of its trace; nil: it is not traced
	// twin is the same record as it was in memory before its dead letter was written by
	// an owner that had lost its lease; nil: it was not.
	twin *entry

	targets []string  // not tried yet
	readAt  time.Time // when its dead letter was read last, at the latest
	round   dlq.Round

	once   sync.Once
	done   chan struct{} // closed when result stands
	result struct {
		round dlq.Round
		err   error
	}
}

// finish ends the round. Only the first call counts.
func (p *replay) finish(round dlq.Round, err error) {
	p.once.Do(func() {
		p.result.round, p.result.err = round, err
		close(p.done)
	})
}

func (p *replay) finished() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// giveUp takes the replay out of its lane, or waits for the end of the
// delivery that it is in.
func (p *replay) giveUp(pool *lanes.Pool, cause error) {
	check := time.NewTicker(withdrawCheck)
	defer check.Stop()
	for {
		if len(pool.Withdraw(p.task.Aggregate, func(t *lanes.Task) bool { return t == &p.task })) > 0 {
			p.finish(dlq.Round{}, cause)
		}
		select {
		case <-p.done:
			return
		case <-check.C:
		}
	}
}

// withdrawCheck is how often a replay that is given up looks whether it is back
// in the queue: it may have been with a worker.
const withdrawCheck = 10 * time.Millisecond

// job is what its turn in the lane delivers.
func (p *replay) job() *ier.Job {
	return &ier.Job{
		Record: p.rec, Data: p.data, Lane: p.lane, Targets: p.targets, Replay: p.item.ID, Consumer: p.item.Consumer,
		Attempt: attemptOf(p.item),
		Waits:   ier.Waits{Lane: p.task.Waited(), Backoff: p.task.BackedOff()},
	}
}

// concludeReplay judges a replay's round. It ends with one attempt at each
// target, and stays in its lane for those that an older record stood before.
func (r *Relay) concludeReplay(ctx context.Context, p *replay, out ier.Outcome) lanes.Verdict {
	p.trail.conclude(out)
	p.round.Acked = append(p.round.Acked, out.Acked...)
	p.round.Blocked = append(p.round.Blocked, out.Blocked...)
	for _, f := range out.Failed {
		if ctx.Err() != nil || f.Kind == contracts.Outage && !r.provesItsOwn(p, f.Target) || f.Kind == contracts.Attributable && !r.counts(f.Kind, f.Target) {
			p.round.Blocked = append(p.round.Blocked, f.Target)
			continue
		}
		p.round.Failed = append(p.round.Failed, contracts.AttemptError{
			At: f.At, Attempt: attemptOf(p.item), Target: f.Target, Code: f.Code, Message: f.Message,
		})
	}
	p.targets = out.Behind
	if len(p.targets) > 0 && ctx.Err() == nil {
		return lanes.Verdict{Action: lanes.Again}
	}
	p.round.Blocked = append(p.round.Blocked, p.targets...)
	p.round.Missing = p.missing
	if len(p.round.Blocked) == 0 || len(p.round.Failed) > 0 {
		// Otherwise an outage ended the round, which counts nothing: they are told of by the one that counts.
		p.round.Failed = append(p.round.Failed, p.unrouted...)
	}
	p.finish(p.round, nil)
	// Dropped, so that the lane's SLA is not judged by it.
	return lanes.Verdict{Action: lanes.Drop}
}

// provesItsOwn reports whether an outage failure is the record's own after all: its
// target answers others, and it has failed there many times.
func (r *Relay) provesItsOwn(p *replay, target string) bool {
	return !r.router.Open(target) && r.replays.outage(p.item.ID) > r.tuning.OutageTolerance
}
