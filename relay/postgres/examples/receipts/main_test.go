package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/redis/redistest"
	"outboxrelay/relay/postgres"
)

// paper is what receipts are written on.
type paper struct {
	mu    sync.Mutex
	lines []string
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, string(b))
	return len(b), nil
}

func (p *paper) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

func TestOneReceiptForEachOrder(t *testing.T) {
	const project = "example"
	url := redistest.URL(t)
	cloud, err := local.Start(local.Options{Project: project, Topics: []string{topic}})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	t.Setenv("PUBSUB_EMULATOR_HOST", cloud.PubSubAddr)
	env := map[string]string{"REDIS_URL": url, "GOOGLE_CLOUD_PROJECT": project, ttlVar: "168"}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var out paper
	done := make(chan error, 1)
	go func() { done <- run(ctx, func(name string) string { return env[name] }, &out) }()

	client, err := pubsub.NewClient(ctx, project)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	until := func(what string, cond func() bool) {
		t.Helper()
		for !cond() {
			select {
			case err := <-done:
				t.Fatalf("it ended before %s: %v", what, err)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	until("it is subscribed", func() bool {
		_, err := client.SubscriptionAdminClient.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{
			Subscription: "projects/" + project + "/subscriptions/" + consumer,
		})
		return err == nil
	})
	publisher := client.Publisher(topic)
	publisher.EnableMessageOrdering = true
	defer publisher.Stop()
	const orders = 3
	var ids []string
	for n := range orders {
		order := uuid.NewString()
		for _, kind := range []postgres.EventType{postgres.OrderCreated, postgres.OrderStateChanged} {
			id := uuid.NewString()
			m := message(t, id, kind, order, n)
			ids = append(ids, id)
			for range 2 { // each arrives twice
				if _, err := publisher.Publish(ctx, m).Get(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	o, err := goredis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	marks := goredis.NewClient(o)
	defer marks.Close()
	until("every event is marked", func() bool {
		var keys []string
		for _, id := range ids {
			keys = append(keys, "pf:evt:processed:"+consumer+":"+id)
		}
		n, err := marks.Exists(ctx, keys...).Result()
		return err == nil && n == int64(len(keys))
	})
	if n := out.count() - 1; n != orders || !strings.HasPrefix(out.lines[1], "receipt for order ") { // the first says that it waits
		t.Errorf("%d receipts, want %d: %v", n, orders, out.lines)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// message is one of the publisher's.
func message(t *testing.T, id string, kind postgres.EventType, order string, n int) *pubsub.Message {
	t.Helper()
	data, err := json.Marshal(postgres.OutboxPayloadEnvelope{
		Version: 1, EventID: id, OccurredAt: time.Now(), Data: json.RawMessage(fmt.Sprintf(`{"orderId": %q, "total": %d.5}`, order, n)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &pubsub.Message{Data: data, OrderingKey: order, Attributes: map[string]string{
		postgres.AttrEventID: id, postgres.AttrEventType: string(kind), postgres.AttrAggregateType: string(postgres.AggregateVendorOrder),
		postgres.AttrAggregateID: order, postgres.AttrCreatedAt: time.Now().UTC().Format(time.RFC3339Nano),
	}}
}

func TestWhatIsNotConfiguredIsSaidAtOnce(t *testing.T) {
	err := run(t.Context(), func(name string) string { return map[string]string{ttlVar: "1"}[name] }, &paper{})
	if err == nil || !strings.Contains(err.Error(), "want 168 to 8760 hours") || !strings.Contains(err.Error(), "REDIS_URL is not set") {
		t.Errorf("error is %v, want both", err)
	}
}
