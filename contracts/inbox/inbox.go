package inbox

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"cloud.google.com/go/pubsub/v2"
)

// Inbox is one consumer's. Its methods may be called from any goroutine, and any number
// of processes may have one for the same consumer and store.
type Inbox struct {
	store    Store
	consumer string
	opts     Options
	held     chan struct{} // one for each message that is held
	hanging  atomic.Int64  // handlers that were left behind
	outages  outages       // that events met
}

// New makes the inbox of a consumer, whose name is part of every key in the store: 1 to 100
// letters, digits, "_", "-" or ".". It panics on a name or options that are not valid, as
// those are faults of the program; see Options.Validate.
func New(store Store, consumer string, o Options) *Inbox {
	if err := CheckConsumer(consumer); err != nil {
		panic("make inbox: " + err.Error())
	}
	if err := o.Validate(); err != nil {
		panic(fmt.Sprintf("make inbox of %s: %v", consumer, err))
	}
	o = o.withDefaults()
	return &Inbox{store: store, consumer: consumer, opts: o, held: make(chan struct{}, o.MaxHeld)}
}

// CheckConsumer tells what is wrong with the name of a consumer.
func CheckConsumer(name string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	if name == "" || len(name) > 100 || strings.Trim(name, allowed) != "" {
		return fmt.Errorf("consumer %q is not 1 to 100 of letters, digits and the three '_-.'", name)
	}
	return nil
}

// Handle returns a receive function for Receive, which has h handle each
// event once. Each message is acknowledged or given back when it returns.
func (i *Inbox) Handle(h Handler) func(context.Context, *pubsub.Message) {
	return i.receiver(i.effect(h))
}

// Deliver is Handle for what does not come through Receive: a push request, or a
// test. It reports whether the message is to be acknowledged; otherwise it is to be
// delivered again, not at once but after a moment.
func (i *Inbox) Deliver(ctx context.Context, data []byte, attributes map[string]string, h Handler) (ack bool) {
	return i.deliver(ctx, Message{Data: data, Attributes: attributes}, i.effect(h))
}

// Message is what arrived.
type Message struct {
	Data       []byte
	Attributes map[string]string
}

func (i *Inbox) receiver(e effect) func(context.Context, *pubsub.Message) {
	return func(ctx context.Context, m *pubsub.Message) {
		if i.deliver(ctx, Message{Data: m.Data, Attributes: m.Attributes}, e) {
			m.Ack()
		} else {
			m.Nack()
		}
	}
}
