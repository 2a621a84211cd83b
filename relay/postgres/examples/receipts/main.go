// Command receipts is a whole consumer: for each order that was created it writes one receipt, however
// often the event's message comes.
//
//	REDIS_URL=redis://… GOOGLE_CLOUD_PROJECT=… receipts
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	goredis "github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/redis"
	"outboxrelay/relay/postgres"
)

const (
	consumer = "receipts" // its subscription, and part of its keys in Redis
	topic    = "pf-domain-events"
	ttlVar   = "PACKFINDERZ_OUTBOX_IDEMPOTENCY_TTL_HOURS"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv, os.Stdout); err != nil {
		log.Fatal("receipts: ", err)
	}
}

// run consumes until ctx ends.
func run(ctx context.Context, getenv func(string) string, out io.Writer) (err error) {
	remember, errTTL := retention(getenv(ttlVar))
	o, errRedis := goredis.ParseURL(getenv("REDIS_URL"))
	if errRedis != nil {
		errRedis = errors.New("REDIS_URL is not set, or is no URL of Redis") // the cause may hold a password
	}
	if err := errors.Join(errTTL, errRedis); err != nil {
		return err
	}
	client := goredis.NewClient(o)
	defer func() { err = errors.Join(err, client.Close()) }()
	messages, err := pubsub.NewClient(ctx, getenv("GOOGLE_CLOUD_PROJECT"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, messages.Close()) }()
	if err := subscribe(ctx, messages); err != nil {
		return err
	}
	// The inbox claims the event in Redis before the handler and marks it as processed after it: so a
	// handler that fails, or dies, is called again, and one that succeeded is not.
	box := inbox.New(redis.New(client), consumer, inbox.Options{
		Decode: postgres.Decode, Retention: remember, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Versions: map[string][]int64{string(postgres.OrderCreated): {1}},
	})
	if _, err := fmt.Fprintln(out, "receipts: waiting for orders"); err != nil {
		return err
	}
	return box.Receive(ctx, messages.Subscriber(consumer), box.Handle(func(_ context.Context, e *inbox.Event) error {
		if e.EventName != string(postgres.OrderCreated) {
			return nil // not ours: it is acknowledged
		}
		var order struct {
			OrderID string  `json:"orderId"`
			Total   float64 `json:"total"`
		}
		if err := json.Unmarshal(e.Payload, &order); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "receipt for order %s: %.2f (event %s)\n", order.OrderID, order.Total, e.EventID)
		return err
	}))
}

// retention is how long an event is remembered; "": the default of the inbox, 7 days.
func retention(hours string) (time.Duration, error) {
	if hours == "" {
		return inbox.DefaultRetention, nil
	}
	const least, most = 7 * 24, 365 * 24
	n, err := strconv.Atoi(hours)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is %q, want %d to %d hours", ttlVar, hours, least, most)
	}
	return time.Duration(n) * time.Hour, nil
}

// subscribe makes the subscription where it is missing: with message ordering, which brings the events of
// an aggregate one after another, and a backoff for what has to wait.
func subscribe(ctx context.Context, client *pubsub.Client) error {
	_, err := client.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
		Name:                  "projects/" + client.Project() + "/subscriptions/" + consumer,
		Topic:                 "projects/" + client.Project() + "/topics/" + topic,
		EnableMessageOrdering: true,
		AckDeadlineSeconds:    60,
		RetryPolicy: &pubsubpb.RetryPolicy{
			MinimumBackoff: durationpb.New(10 * time.Second), MaximumBackoff: durationpb.New(10 * time.Minute),
		},
	})
	if status.Code(err) == codes.AlreadyExists {
		return nil
	}
	return err
}
