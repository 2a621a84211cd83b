package pubsub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

func TestMessageArrivesAsItIs(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		topic := c.topic(t)
		rec := &contracts.Record{
			Outbox: "accOutbox", EventID: "e-1", EventType: "RoleChanged", EventVersion: 2,
			AggregateID: "account-1", AggregateVersion: 7, IdempotencyKey: "e-1:account-1:7",
			TraceID: "t-1", Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Producer: "VS2 account",
			OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Payload: map[string]any{"role": "admin"},
		}
		data, err := contracts.MarshalEnvelope(rec)
		if err != nil {
			t.Fatal(err)
		}
		message := contracts.NewMessage(rec, data, contracts.StandardLane, "FUNNEL", "dead-1")
		errs := c.target(t, topic, Settings{}).Deliver(t.Context(),
			[]ier.Parcel{{Record: rec, Message: message, Lane: contracts.StandardLane}})
		if diff := cmp.Diff([]string{"acked"}, answers(errs)); diff != "" {
			t.Fatalf("answers (-want +got):\n%s", diff)
		}
		want := []*pubsubpb.PubsubMessage{{
			Data: []byte(`{"event_id":"e-1","event_name":"RoleChanged","event_version":2,"occurred_at":"2026-01-02T03:04:05.000006Z",` +
				`"producer":"VS2 account","trace_id":"t-1","idempotency_key":"e-1:account-1:7",` +
				`"aggregate_id":"account-1","aggregate_version":7,"payload":{"role":"admin"}}`),
			Attributes: map[string]string{
				"eventId": "e-1", "eventType": "RoleChanged", "eventVersion": "2", "aggregateId": "account-1",
				"aggregateVersion": "7", "idempotencyKey": "e-1:account-1:7", "traceId": "t-1",
				"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
				"lane":        "STANDARD_LANE", "outbox": "accOutbox", "target": "FUNNEL",
				"producer": "VS2 account", "replay": "dead-1",
			},
			OrderingKey: "account-1",
		}}
		got := c.messages(t, topic, 1)
		if diff := cmp.Diff(want, got, protocmp.Transform(),
			protocmp.IgnoreFields(&pubsubpb.PubsubMessage{}, "message_id", "publish_time")); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

func TestOrderOfEachKey(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		const keys, runs, perRun = 8, 5, 20
		topic := c.topic(t)
		target := c.target(t, topic, Settings{MaxMessages: 7})
		var wg sync.WaitGroup
		want := map[string][]string{}
		for k := range keys {
			key := fmt.Sprintf("key-%d", k)
			want[key] = numbers(key, 1, runs*perRun)
			wg.Go(func() {
				for run := range runs {
					errs := target.Deliver(t.Context(), parcels(key, run*perRun+1, (run+1)*perRun))
					if diff := cmp.Diff([]string{fmt.Sprintf("acked x%d", perRun)}, answers(errs)); diff != "" {
						t.Errorf("answers of %s (-want +got):\n%s", key, diff)
					}
				}
			})
		}
		wg.Wait()
		got := byKey(c.messages(t, topic, keys*runs*perRun))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages by key (-want +got):\n%s", diff)
		}
	})
}

func TestCallersOnOneKeyTakeTurns(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		const callers, perRun = 6, 30
		topic := c.topic(t)
		target := c.target(t, topic, Settings{MaxMessages: 4})
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				errs := target.Deliver(t.Context(), parcels("key", caller*1000+1, caller*1000+perRun))
				if diff := cmp.Diff([]string{fmt.Sprintf("acked x%d", perRun)}, answers(errs)); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
			})
		}
		wg.Wait()
		got := byKey(c.messages(t, topic, callers*perRun))["key"]
		if len(got) != callers*perRun {
			t.Fatalf("%d messages, want %d", len(got), callers*perRun)
		}
		for turn := range slices.Chunk(got, perRun) {
			var caller int
			if _, err := fmt.Sscanf(turn[0], "key/%d", &caller); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(numbers("key", caller, caller+perRun-1), turn); diff != "" {
				t.Errorf("one caller's turn (-want +got):\n%s", diff)
			}
		}
	})
}

func TestMessagesWithoutAKeyAreDelivered(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		topic := c.topic(t)
		errs := c.target(t, topic, Settings{}).Deliver(t.Context(), parcels("", 1, 10))
		if diff := cmp.Diff([]string{"acked x10"}, answers(errs)); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		got := byKey(c.messages(t, topic, 10))[""]
		if diff := cmp.Diff(slices.Sorted(slices.Values(numbers("", 1, 10))), slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

func TestOversizedMessageIsPermanentAndHarmsNoOther(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		topic := c.topic(t)
		target := c.target(t, topic, Settings{})
		run := parcels("key", 1, 4)
		run[2].Message.Data = make([]byte, 10_000_000)
		errs := target.Deliver(t.Context(), run)
		if diff := cmp.Diff([]string{"acked x2", "permanent TooLarge", "behind"}, answers(errs)); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if !strings.Contains(errs[2].Error(), "bytes, at most") {
			t.Errorf("the failure does not name the size: %v", errs[2])
		}
		errs = target.Deliver(t.Context(), run[3:])
		if diff := cmp.Diff([]string{"acked"}, answers(errs)); diff != "" {
			t.Errorf("answers after the dead letter (-want +got):\n%s", diff)
		}
		want := []string{"key/1", "key/2", "key/4"}
		if diff := cmp.Diff(want, byKey(c.messages(t, topic, 3))["key"]); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

func TestMissingTopicIsAnOutageUntilItIsThere(t *testing.T) {
	everyCloud(t, func(t *testing.T, c *cloud) {
		there, missing := c.topic(t), "missing-"+c.topic(t)
		target := c.target(t, missing, Settings{})
		if diff := cmp.Diff([]string{"outage NotFound", "behind x2"}, answers(target.Deliver(t.Context(), parcels("key", 1, 3)))); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		client := c.clients.Background()
		got, err := MissingTopics(t.Context(), client, []string{there, missing, missing})
		if diff := cmp.Diff([]string{missing}, got); diff != "" || err != nil {
			t.Errorf("missing topics (-want +got), error %v:\n%s", err, diff)
		}
		for range 2 { // the second finds nothing to do
			if err := EnsureTopics(t.Context(), client, []string{there, missing}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := MissingTopics(t.Context(), client, []string{there, missing}); len(got) != 0 || err != nil {
			t.Errorf("missing topics are %v, error %v; want none", got, err)
		}
		if diff := cmp.Diff([]string{"acked x3"}, answers(target.Deliver(t.Context(), parcels("key", 1, 3)))); diff != "" {
			t.Errorf("answers with the topic there (-want +got):\n%s", diff)
		}
	})
}

func TestEachLaneHasItsOwnConnection(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{})
	for _, lane := range contracts.Lanes() {
		p := parcel(string(lane), "data")
		p.Lane = lane
		if errs := target.Deliver(t.Context(), []ier.Parcel{p}); errs[0] != nil {
			t.Fatal(errs[0])
		}
	}
	seen := map[string]string{}
	for lane, from := range c.server.peers {
		if other, ok := seen[from]; ok {
			t.Errorf("%s and %s share a connection", lane, other)
		}
		seen[from] = lane
	}
}

func TestTargetsOfACatalog(t *testing.T) {
	c := setup(t)
	catalog := &contracts.Catalog{
		Targets: map[string]contracts.TargetSpec{
			"FUNNEL":         {Name: "FUNNEL", Kind: contracts.KindPubSub, Topic: "ier-funnel"},
			"CLAIMS_HANDLER": {Name: "CLAIMS_HANDLER", Kind: contracts.KindHandler},
		},
	}
	targets, err := NewTargets(c.clients, catalog, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 1 || targets["FUNNEL"] == nil || targets["FUNNEL"].topic != "ier-funnel" {
		t.Errorf("targets are %v, want FUNNEL alone", targets)
	}
	if err := targets.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := NewTargets(c.clients, catalog, Settings{Timeout: -1, MaxMessages: 5000, MaxOutstanding: -1}); err == nil {
		t.Error("broken settings were accepted")
	}
	if _, err := NewTarget(c.clients, "", Settings{}); err == nil {
		t.Error("a target without a topic was accepted")
	}
}

func TestKindOfEachCode(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{})
	tests := map[codes.Code]string{
		codes.InvalidArgument:    "permanent InvalidArgument",
		codes.OutOfRange:         "permanent OutOfRange",
		codes.Unavailable:        "outage Unavailable",
		codes.DeadlineExceeded:   "outage DeadlineExceeded",
		codes.ResourceExhausted:  "outage ResourceExhausted",
		codes.PermissionDenied:   "outage PermissionDenied",
		codes.Unauthenticated:    "outage Unauthenticated",
		codes.NotFound:           "outage NotFound",
		codes.FailedPrecondition: "outage FailedPrecondition",
		codes.Canceled:           "outage Canceled",
		codes.Internal:           "attributable Internal",
		codes.Unknown:            "attributable Unknown",
		codes.Aborted:            "attributable Aborted",
		codes.AlreadyExists:      "attributable AlreadyExists",
		codes.DataLoss:           "attributable DataLoss",
		codes.Unimplemented:      "attributable Unimplemented",
	}
	for code, want := range tests {
		t.Run(code.String(), func(t *testing.T) {
			c.server.fail(func(context.Context, *pubsubpb.PublishRequest) error { return status.Error(code, "no") })
			got := answers(target.Deliver(t.Context(), parcels(code.String(), 1, 1)))
			if diff := cmp.Diff([]string{want}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
	if len(tests) != len(kinds) {
		t.Errorf("%d codes are tested, %d are in the table", len(tests), len(kinds))
	}
}
