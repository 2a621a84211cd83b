package postgres

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// told are messages of the events with these numbers, one after the other every 100 ms, all of one aggregate.
func told(numbers ...int) []*pb.ReceivedMessage {
	messages := make([]*pb.ReceivedMessage, len(numbers))
	for i, n := range numbers {
		messages[i] = &pb.ReceivedMessage{Message: &pb.PubsubMessage{
			MessageId: strconv.Itoa(9 + i), Data: fmt.Appendf(nil, `{"data": {"number": %d, "aggregate": 7}}`, n),
			PublishTime: timestamppb.New(time.Unix(1000, 0).Add(time.Duration(i) * 100 * time.Millisecond)),
		}}
	}
	return messages
}

func TestTally(t *testing.T) {
	for name, c := range map[string]struct {
		numbers       []int
		breaks, twice int
		rate          float64
	}{
		"in order":            {[]int{0, 1, 2}, 0, 0, 10},
		"one late":            {[]int{0, 2, 1, 3}, 1, 0, 10},
		"one twice":           {[]int{0, 1, 0, 2}, 0, 1, 2 / 0.3},
		"two late, one twice": {[]int{2, 0, 1, 0}, 2, 1, 10},
	} {
		t.Run(name, func(t *testing.T) {
			a, messages := newArrivals(), told(c.numbers...)
			a.take(messages[len(messages)/2:]) // pulled in another order
			a.take(messages)                   // and some handed out again
			got := a.tally()
			if got.breaks != c.breaks || got.twice != c.twice || got.rate() != c.rate {
				t.Errorf("out of order %d, twice %d, %v a second; want %d, %d, %v", got.breaks, got.twice, got.rate(), c.breaks, c.twice, c.rate)
			}
		})
	}
}

func TestWhatIsNoEventIsTold(t *testing.T) {
	a := newArrivals()
	a.take(append(told(1), &pb.ReceivedMessage{Message: &pb.PubsubMessage{MessageId: "x", Data: []byte("{")}}))
	if n, err := a.count(); n != 1 || err == nil {
		t.Errorf("count is %d, %v; want 1 and an error", n, err)
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5}
	if p50, p99, p100 := quantile(values, 50), quantile(values, 99), quantile(values, 100); p50 != 3 || p99 != 4 || p100 != 5 {
		t.Errorf("got %v, %v, %v; want 3, 4, 5", p50, p99, p100)
	}
}
