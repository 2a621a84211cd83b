package inbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"outboxrelay/contracts"
)

// Transactor is a store that can settle a claim in the transaction T of an effect.
type Transactor[T any] interface {
	// Within runs f in a transaction that also marks the event of the claim processed, for
	// ttl. It commits when f returns nil; otherwise nothing happened. ErrLost: the claim is
	// not the caller's any more, and nothing happened. f may be called several times. Once ctx has
	// ended nothing of the transaction is held any more, whether f returns or not, if that can be.
	//
	// What fails in the transaction, and says nothing of the event, is Passing: the store cannot be reached, or
	// others stand in the way. Everything else counts as a try of the event, as what fails
	// always would hold back its aggregate for ever.
	Within(ctx context.Context, ref Ref, ttl time.Duration, f func(ctx context.Context, tx T) error) error
}

// Passing makes an outage of the failure of a transaction that says nothing of its event, and passes by itself.
// One that says itself what it is (see contracts.KindOf) stays that.
func Passing(err error) error {
	var known interface{ FailureKind() contracts.Kind }
	if errors.As(err, &known) {
		return err
	}
	return &contracts.Failure{Kind: contracts.Outage, Code: CodeStore, Err: err}
}

// HandlerIn is a Handler whose effect is part of a transaction: what it writes there
// happens together with the mark that its event was processed, or not at all. It may be
// called several times for one transaction, where the database asks for that, so
// it has no other effect.
type HandlerIn[T any] func(ctx context.Context, tx T, e *Event) error

// HandleIn is Inbox.Handle for an effect in the database of the store, which happens exactly
// once. t is the inbox's own store: it panics on another, as that is a fault of the program.
func HandleIn[T any](i *Inbox, t Transactor[T], h HandlerIn[T]) func(context.Context, *pubsub.Message) {
	return i.receiver(effectIn(i, t, h))
}

// DeliverIn is Inbox.Deliver for an effect in the database of the store; see HandleIn.
func DeliverIn[T any](ctx context.Context, i *Inbox, t Transactor[T], data []byte, attributes map[string]string, h HandlerIn[T]) (ack bool) {
	return i.deliver(ctx, Message{Data: data, Attributes: attributes}, effectIn(i, t, h))
}

func effectIn[T any](i *Inbox, t Transactor[T], h HandlerIn[T]) effect {
	if !same(i.store, t) {
		panic(fmt.Sprintf("handle events of %s within a transaction: its inbox has another store, a %T, and this %T knows nothing of its claims", i.consumer, i.store, t))
	}
	return effect{settles: true, run: func(ctx context.Context, l *limit, e *Event) error {
		return t.Within(ctx, e.Ref, i.opts.Retention, func(ctx context.Context, tx T) error {
			return l.call(ctx, func(ctx context.Context) error { return h(ctx, tx, e) })
		})
	}}
}

// same reports whether both are one value. What cannot be compared is taken for it.
func same(a, b any) bool {
	if !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
	return a == b
}
