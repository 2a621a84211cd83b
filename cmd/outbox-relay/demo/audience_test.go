package demo

import (
	"strconv"
	"testing"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"outboxrelay/contracts"
)

// movingCatalog is one whose consumer mail has moved to version 2, and search has not.
func movingCatalog(t *testing.T) *contracts.Catalog {
	t.Helper()
	c, err := contracts.ParseCatalog("c.yaml", []byte(`
targets: {A: {kind: pubsub, topic: topic-a}, B: {kind: pubsub, topic: topic-b}, H: {kind: handler}}
outboxes:
- name: box
  slice: s
  events:
  - {type: E, version: 1, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [A, B], consumers: [search]}
  - {type: E, version: 2, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [A, B], consumers: [mail]}
  - {type: F, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [B], consumers: [mail]}
  - {type: G, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [H], consumers: [mail]}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAudience(t *testing.T) {
	c := movingCatalog(t)
	want := []attention{{"mail", "topic-a"}, {"mail", "topic-b"}, {"search", "topic-a"}}
	if diff := cmp.Diff(want, audience(c), cmp.AllowUnexported(attention{})); diff != "" {
		t.Error(diff)
	}
	reach := func(eventType string, version int64) []string {
		return destinations(c, c.Outbox("box").RouteOf(eventType, version))
	}
	for _, tc := range []struct {
		eventType string
		version   int64
		want      []string
	}{
		{"E", 1, []string{"A", "B", "consumer search"}},
		{"E", 2, []string{"A", "B", "consumer mail"}},
		{"G", 1, []string{"H"}},
	} {
		if diff := cmp.Diff(tc.want, reach(tc.eventType, tc.version)); diff != "" {
			t.Errorf("%s v%d: %s", tc.eventType, tc.version, diff)
		}
	}
}

func TestConsumersActOnceOnWhatNamesThem(t *testing.T) {
	c := &Consumers{Catalog: movingCatalog(t), Ledger: NewLedger()}
	message := func(eventType string, version int64, key string) *pb.PubsubMessage {
		return &pb.PubsubMessage{Attributes: map[string]string{
			contracts.AttrOutbox: "box", contracts.AttrEventType: eventType, contracts.AttrEventVersion: strconv.FormatInt(version, 10), contracts.AttrIdempotencyKey: key,
		}}
	}
	for _, m := range []*pb.PubsubMessage{
		message("E", 1, "k1"), message("E", 2, "k2"), message("E", 2, "k2"), message("E", 3, "k3"), message("Unknown", 1, "k4"), {},
	} {
		for _, a := range audience(c.Catalog) {
			if a.topic == "topic-a" {
				c.attend(a, m)
			}
		}
	}
	c.attend(attention{"mail", "topic-b"}, message("E", 2, "k2")) // by another topic than its own
	want := []ConsumerTotals{{Name: "mail", Acted: 1, Repeats: 1, Others: 5}, {Name: "search", Acted: 1, Others: 5}}
	totals := c.Ledger.Totals()
	if diff := cmp.Diff(want, totals.Consumers, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if got, want := audienceLine(totals.Consumers), "consumers  mail 1, search 1; 1 repeats"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	if got := audienceLine(nil); got != "" {
		t.Errorf("line %q for no consumer", got)
	}
}

func TestARecordIsDeliveredWhenItsConsumersHaveIt(t *testing.T) {
	l := NewLedger()
	l.Expect("k", contracts.StandardLane, []string{"A", "consumer mail"})
	l.Appended("k")
	l.Arrive(Arrival{Target: "A", Lane: contracts.StandardLane, Key: "k"})
	if _, delivered := l.Totals().Sum(); delivered != 0 {
		t.Error("delivered before its consumer had it")
	}
	l.Attend("mail", "k", true)
	if _, delivered := l.Totals().Sum(); delivered != 1 {
		t.Error("not delivered though all have it")
	}
}
