package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts/inbox"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay/postgres/publisher"
)

// republishCmd publishes rows once more, for one consumer.
type republishCmd struct {
	IDs      []string `arg:"" name:"id" help:"IDs of published rows: the event IDs of the consumer's dead letters."`
	Consumer string   `required:"" placeholder:"NAME" help:"Whose inbox takes them up again, as its dead letters name it."`

	databaseFlags
	topicFlags
}

// Help is the long text of republish --help.
func (c *republishCmd) Help() string {
	return `For what a consumer has given up as a dead letter, once its cause is mended. The message goes to the topic with the attribute "consumer": the inbox of that consumer handles the event with a new count of tries, those of all others acknowledge it without an effect. A consumer without an inbox has to look at the attribute itself. The rows stay as they are; the dead letter too, so discard it once the event is handled.`
}

// closeWithin bounds the end of the clients.
const closeWithin = 5 * time.Second

// Run publishes them all, and tells of each that it cannot.
func (c *republishCmd) Run(ctx context.Context, p shell.Process) (err error) {
	ids, idErr := parseIDs(c.IDs)
	place, placeErr := c.place(p.Env)
	pool, err := c.open(ctx, p.Env, idErr, placeErr, inbox.CheckConsumer(c.Consumer))
	if err != nil {
		return err
	}
	defer pool.Close()
	clients, err := ierpubsub.NewClients(ctx, place.Project, place.PubSubOptions()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clients.Close()) }()
	target, err := ierpubsub.NewTarget(clients, c.Topic, ierpubsub.Settings{})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		err = errors.Join(err, target.Close(closing))
	}()
	failed, err := publisher.Republish(ctx, pool, target, c.Consumer, ids)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%d of %d rows are published again, for %s\n", len(ids)-len(failed), len(ids), c.Consumer)
	var errs []error
	code := shell.ExitNotFound
	for _, id := range ids {
		err, ok := failed[id]
		if !ok {
			continue
		}
		if !errors.Is(err, publisher.ErrNotPublished) {
			code = shell.ExitFailed
		}
		errs = append(errs, fmt.Errorf("row %s: %w", id, err))
	}
	if len(errs) > 0 {
		return shell.Exit(code, errors.Join(errs...))
	}
	return nil
}
