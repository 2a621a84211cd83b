package pubsub

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// noRetry shows a test the server's own answer.
var noRetry = gax.WithRetry(nil)

func TestReceiveKeepsTheOrderOfAKey(t *testing.T) {
	_, client := setup(t, Options{})
	if err := Subscribe(t.Context(), client, "orders", "reader"); err != nil {
		t.Fatal(err)
	}
	var batch []*pb.PubsubMessage
	want := map[string][]string{}
	for i := range 200 {
		key := "k" + strconv.Itoa(i%5)
		batch = append(batch, message(key, strconv.Itoa(i)))
		want[key] = append(want[key], strconv.Itoa(i))
	}
	if err := publish(t, client, "orders", batch...); err != nil {
		t.Fatal(err)
	}

	got, n := map[string][]string{}, 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := Receive(ctx, client, "reader", func(messages []*pb.ReceivedMessage) {
		for _, m := range messages {
			got[m.Message.OrderingKey] = append(got[m.Message.OrderingKey], string(m.Message.Data))
			if n++; n == len(batch) {
				cancel()
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages of each key (-want +got):\n%s", diff)
	}
}

func TestReceiveTellsAMissingSubscription(t *testing.T) {
	_, client := setup(t, Options{})
	err := Receive(t.Context(), client, "nobody", func([]*pb.ReceivedMessage) {})
	if err == nil || !strings.Contains(err.Error(), "receive from nobody") {
		t.Errorf("Receive = %v, want an error that names the subscription", err)
	}
}

func TestSubscribeTwiceIsANoOp(t *testing.T) {
	_, client := setup(t, Options{})
	for range 2 {
		if err := Subscribe(t.Context(), client, "orders", "reader"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateTopicsTwiceIsANoOp(t *testing.T) {
	s, _ := setup(t, Options{})
	if err := s.CreateTopics(project, []string{"orders"}); err != nil {
		t.Fatal(err)
	}
}

func TestLimits(t *testing.T) {
	_, client := setup(t, Options{})
	many := make([]*pb.PubsubMessage, MaxPublishMessages+1)
	for i := range many {
		many[i] = message("", "x")
	}
	large := message("", strings.Repeat("x", 6<<20))
	attr := message("", "x")
	attr.Attributes = map[string]string{"a": strings.Repeat("x", MaxAttributeBytes+1)}
	for _, tc := range []struct {
		name     string
		messages []*pb.PubsubMessage
		want     codes.Code
	}{
		{"over the transport's usual 4 MiB", []*pb.PubsubMessage{large}, codes.OK},
		{"over Pub/Sub's bytes", []*pb.PubsubMessage{large, large}, codes.InvalidArgument},
		{"too many messages", many, codes.InvalidArgument},
		{"no message", nil, codes.InvalidArgument},
		{"an empty message", []*pb.PubsubMessage{{}}, codes.InvalidArgument},
		{"a long attribute", []*pb.PubsubMessage{attr}, codes.InvalidArgument},
		{"a long ordering key", []*pb.PubsubMessage{message(strings.Repeat("k", MaxOrderingKey+1), "x")}, codes.InvalidArgument},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := status.Code(publish(t, client, "orders", tc.messages...)); got != tc.want {
				t.Errorf("publish = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestStartTellsATakenPort(t *testing.T) {
	s, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addr, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Start(addr); err == nil || !strings.Contains(err.Error(), "listen for pub/sub") {
		t.Errorf("Start on a taken port = %v, want an error", err)
	}
}

func TestIncreasingNeverRepeats(t *testing.T) {
	fixed := time.Unix(0, 0)
	now := increasing(func() time.Time { return fixed })
	first, second := now(), now()
	if !second.After(first) {
		t.Errorf("second time %v is not after the first %v", second, first)
	}
}

func TestCounts(t *testing.T) {
	s, client := setup(t, Options{})
	if _, err := s.Faults().Add(Fault{Code: codes.Internal, Times: 1}); err != nil {
		t.Fatal(err)
	}
	_ = publish(t, client, "orders", message("", "lost"))
	for range 2 {
		if err := publish(t, client, "invoices", message("", "x"), message("", "y")); err != nil {
			t.Fatal(err)
		}
	}
	want := Counts{
		Calls:     map[string]int64{"Publish": 3},
		Failed:    map[string]int64{"Publish": 1},
		Published: map[string]int64{"invoices": 4},
		Retained:  4,
	}
	if diff := cmp.Diff(want, s.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
