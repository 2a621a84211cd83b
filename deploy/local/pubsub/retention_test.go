package pubsub

import (
	"context"
	"strconv"
	"testing"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

var eager = Options{Retain: 10, ClearEvery: 2 * time.Millisecond}

func TestRetentionClearsWhatNobodyWaitsFor(t *testing.T) {
	s, client := setup(t, eager)
	for i := range 20 {
		if err := publish(t, client, "orders", message("", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "messages without a subscription are cleared", func() bool { return s.Counts().Retained < 10 })
}

// A subscriber that starts late must still get every message, although clearing
// was due long before.
func TestRetentionLosesNothingUndelivered(t *testing.T) {
	s, client := setup(t, eager)
	if err := Subscribe(t.Context(), client, "orders", "reader"); err != nil {
		t.Fatal(err)
	}
	const messages = 50
	for i := range messages {
		if err := publish(t, client, "orders", message("k", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a clearing gave up", func() bool { return s.retention.gaveUp.Load() > 0 })
	if got := s.Counts().Retained; got != messages {
		t.Fatalf("retained %d messages, want all %d", got, messages)
	}
	if got := receiveN(t, s, messages); got != messages {
		t.Errorf("received %d messages, want %d", got, messages)
	}
}

func TestRetentionClearsOnceAllIsAcknowledged(t *testing.T) {
	s, client := setup(t, eager)
	for _, name := range []string{"reader", "auditor"} {
		if err := Subscribe(t.Context(), client, "orders", name); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for _, name := range []string{"reader", "auditor"} {
		go func() { done <- Receive(ctx, client, name, func([]*pb.ReceivedMessage) {}) }()
	}
	for i := range 100 {
		if err := publish(t, client, "orders", message("k", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "acknowledged messages are cleared", func() bool { return s.Counts().Retained < 2*eager.Retain })
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestRetentionWaitsForADeletedSubscriptionsMessagesToAge(t *testing.T) {
	s, client := setup(t, eager)
	for _, name := range []string{"reader", "gone"} {
		if err := Subscribe(t.Context(), client, "orders", name); err != nil {
			t.Fatal(err)
		}
	}
	if err := publish(t, client, "orders", message("k", "x")); err != nil {
		t.Fatal(err)
	}
	err := client.SubscriptionAdminClient.DeleteSubscription(t.Context(), &pb.DeleteSubscriptionRequest{Subscription: SubscriptionName(project, "gone")})
	if err != nil {
		t.Fatal(err)
	}
	if s.retention.settled() {
		t.Error("a message is settled that the remaining subscription never got")
	}
	s.retention.now = func() time.Time { return time.Now().Add(forgotten + time.Second) }
	if !s.retention.settled() {
		t.Error("a message is kept that no subscription can hold any more")
	}
	if err := publish(t, client, "orders", message("k", "y")); err != nil {
		t.Fatal(err)
	}
	if got := s.retention.subscribers[TopicName(project, "orders")]; got != 1 {
		t.Errorf("topic has %d subscriptions, want 1", got)
	}
}

// receiveN reads subscription "reader" until n messages came.
func receiveN(t *testing.T, s *Server, n int) int {
	t.Helper()
	got := 0
	for got < n {
		resp, err := s.fake.GServer.Pull(t.Context(), &pb.PullRequest{Subscription: SubscriptionName(project, "reader")})
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.ReceivedMessages) == 0 {
			return got
		}
		for _, m := range resp.ReceivedMessages {
			got++
			if _, err := s.fake.GServer.Acknowledge(t.Context(), &pb.AcknowledgeRequest{
				Subscription: SubscriptionName(project, "reader"), AckIds: []string{m.AckId},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return got
}
