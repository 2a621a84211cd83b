package pubsub

import (
	"fmt"
	"slices"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// widths are how many messages each request so far had.
func (s *server) widths() []int {
	var n []int
	for _, request := range s.seen() {
		n = append(n, len(request))
	}
	return n
}

func TestARunIsOneRequest(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{})
	for run := range 3 {
		got := answers(target.Deliver(t.Context(), parcels("key", run*100+1, run*100+100)))
		if diff := cmp.Diff([]string{"acked x100"}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]int{100, 100, 100}, c.server.widths()); diff != "" {
		t.Errorf("messages of each request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(numbers("key", 1, 300), c.server.stored()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestARunIsSplit(t *testing.T) {
	const kB = 1000
	tests := []struct {
		name     string
		settings Settings
		sizes    []int // of each message's data
		want     []int // messages of each request
	}{
		{"by messages", Settings{MaxMessages: 10}, make([]int, 25), []int{10, 10, 5}},
		{"by what may be on its way", Settings{MaxOutstanding: 4}, make([]int, 10), []int{4, 4, 2}},
		{"by bytes", Settings{}, []int{400 * kB, 400 * kB, 400 * kB, 100 * kB, 400 * kB, 400 * kB}, []int{2, 3, 1}},
		{"a large one is alone", Settings{}, []int{1, 1, 3000 * kB, 1, 1}, []int{2, 1, 2}},
		{"by the bytes that may be on their way", Settings{MaxOutstandingBytes: 10 * kB}, []int{50 * kB, 50 * kB, 50 * kB}, []int{1, 1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := setup(t)
			target := c.target(t, c.topic(t), test.settings)
			var run []ier.Parcel
			var want []string
			for i, size := range test.sizes {
				p := parcel("key", fmt.Sprint(i))
				p.Message.Data = append(p.Message.Data, make([]byte, size)...)
				run = append(run, p)
				want = append(want, string(p.Message.Data))
			}
			for _, err := range target.Deliver(t.Context(), run) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(test.want, c.server.widths()); diff != "" {
				t.Errorf("messages of each request (-want +got):\n%s", diff)
			}
			if !slices.Equal(want, c.server.stored()) {
				t.Error("the messages are not those of the run, in its order")
			}
		})
	}
}

// A request that fails takes with it neither what other requests of its run
// brought through nor what was not tried.
func TestAFailedRequestFailsItsOwnMessagesAlone(t *testing.T) {
	c := setup(t)
	target := c.target(t, c.topic(t), Settings{MaxMessages: 4})
	c.server.fail(refuse("key/7", codes.InvalidArgument))
	got := answers(target.Deliver(t.Context(), parcels("key", 1, 12)))
	if diff := cmp.Diff([]string{"acked x6", "permanent InvalidArgument", "behind x5"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(numbers("key", 1, 6), c.server.stored()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{4, 4, 2, 2, 1}, c.server.widths()); diff != "" {
		t.Errorf("messages of each request (-want +got):\n%s", diff)
	}
}

// No request is larger than what was reckoned, so none is beyond Pub/Sub's limit.
func TestRequestsAreNoLargerThanReckoned(t *testing.T) {
	const topic = "projects/test-project/topics/topic"
	data := make([]byte, maxMessageBytes+1000)
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.Custom(func(t *rapid.T) *contracts.Message {
			m := &contracts.Message{
				OrderingKey: rapid.StringN(0, 300, -1).Draw(t, "key"),
				Attributes:  rapid.MapOfN(rapid.StringN(0, 20, -1), rapid.StringN(0, 300, -1), 0, 20).Draw(t, "attributes"),
			}
			about := rapid.SampledFrom([]int{300, maxRequestBytes / 3, maxRequestBytes, maxMessageBytes}).Draw(t, "about")
			size := proto.Size(&pubsubpb.PubsubMessage{OrderingKey: m.OrderingKey, Attributes: m.Attributes})
			m.Data = data[:max(0, about-size+rapid.IntRange(-300, 50).Draw(t, "surplus"))]
			return m
		})
		pending := rapid.SliceOfN(message, 1, 8).Draw(t, "messages")
		for len(pending) > 0 {
			n, bytes := requestOf(pending, maxRequestBytes)
			if n < 1 || n > 1 && bytes > maxRequestBytes {
				t.Fatalf("%d of %d messages with %d bytes in one request", n, len(pending), bytes)
			}
			if n < len(pending) && bytes+sizeOf(pending[n]) <= maxRequestBytes {
				t.Errorf("%d messages with %d bytes in a request that has room for one of %d", n, bytes, sizeOf(pending[n]))
			}
			if got := proto.Size(plain("", pending[:n])); got > bytes {
				t.Errorf("the request takes %d bytes, %d were reckoned", got, bytes)
			}
			if got := proto.Size(plain(topic, pending[:n])); bytes <= maxMessageBytes && got > 10_000_000 {
				t.Errorf("the request takes %d bytes", got)
			}
			pending = pending[n:]
		}
	})
}
