package inbox

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"outboxrelay/contracts"
)

// DeadLetter is what a consumer could not handle.
type DeadLetter struct {
	Consumer string
	Reason   contracts.Reason
	// Record is the event with the fields of its envelope, and what its attributes tell of the
	// outbox. Of a message that could not be read it is empty but for the attributes' word.
	Record   *contracts.Record
	Envelope []byte // the body of the message as it arrived
	Target   string // that it was delivered to; "" where its message does not say
	Errors   []contracts.AttemptError
	Attempts int // failures that were counted
}

// DeadLetters takes what a consumer could not handle; package dlq/consumers implements
// it on the dead-letter queue.
type DeadLetters interface {
	// Bury keeps a dead letter. Burying the same again is a no-op while it is open, and opens it
	// again otherwise: a replay of it failed.
	Bury(ctx context.Context, d DeadLetter) error
}

// bury makes a claimed event a dead letter, and acknowledges it.
func (d *delivery) bury(c Claim, reason contracts.Reason) (ack, again bool) {
	if c.Takeovers >= d.opts.MaxTakeovers {
		c.Errors = append(c.Errors, contracts.AttemptError{
			At: now(), Attempt: c.Failures + 1, Target: d.consumer, Code: CodeTakeover,
			Message: fmt.Sprintf("%d times in a row nobody said what came of it: its handling may end the process", c.Takeovers),
		})
	}
	if !d.write(DeadLetter{Reason: reason, Errors: c.Errors, Attempts: c.Failures}) {
		if c.Takeovers < d.opts.MaxTakeovers { // giving back ends the count of those: this claim is left to its lease
			d.giveBack(contracts.AttemptError{}, firstDelay)
		}
		return false, false
	}
	return d.settle(EndDead), false
}

// refuse makes a message that does not say which event it is a dead letter. There is nothing to
// claim, to try again, or that waits behind it.
func (d *delivery) refuse() (ack bool) {
	v := d.violation(1)
	if d.opts.DeadLetters == nil {
		rest(d.ctx, min(d.opts.Hold, time.Second))
		return false
	}
	if d.record == nil {
		d.record = d.unread()
	}
	return d.write(DeadLetter{Reason: contracts.ContractViolation, Attempts: 1, Errors: []contracts.AttemptError{v}})
}

// violation is the failure of a message that breaks the contract.
func (d *delivery) violation(attempt int) contracts.AttemptError {
	d.log.Error("a message breaks the contract", "faults", d.faults.Error())
	return contracts.AttemptError{At: now(), Attempt: attempt, Target: d.consumer, Code: CodeContract, Message: bound(d.faults.Error(), contracts.MaxErrorBytes)}
}

// unread is what the attributes tell of a message that cannot be read.
func (d *delivery) unread() *contracts.Record {
	a := d.message.Attributes
	return &contracts.Record{
		Outbox: a[contracts.AttrOutbox], EventID: a[contracts.AttrEventID], EventType: a[contracts.AttrEventType], TraceID: a[contracts.AttrTraceID],
		AggregateID: a[contracts.AttrAggregateID], IdempotencyKey: a[contracts.AttrIdempotencyKey], Producer: a[contracts.AttrProducer],
		Lane: contracts.Lane(a[contracts.AttrLane]), Fields: map[string]any{},
	}
}

// keyed is the record of a dead letter. One without a key has that of its message: all that have none would
// be the same dead letter else, and only the first would stand there.
func (d *delivery) keyed() *contracts.Record {
	rec := *d.record
	if rec.IdempotencyKey == "" {
		rec.IdempotencyKey = fmt.Sprintf("unread:%x", sha256.Sum256(d.message.Data))
	}
	return &rec
}

func (d *delivery) write(l DeadLetter) bool {
	l.Consumer, l.Record, l.Envelope, l.Target = d.consumer, d.keyed(), d.message.Data, d.message.Attributes[contracts.AttrTarget]
	buried := d.insist("bury event", func(ctx context.Context) error { return d.opts.DeadLetters.Bury(ctx, l) })
	if buried {
		d.log.Error("an event is dead", "reason", string(l.Reason), "attempts", l.Attempts)
	}
	return buried
}
