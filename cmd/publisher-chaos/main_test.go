package main

import (
	"bytes"
	"strings"
	"testing"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/goleak"

	"outboxrelay/deploy/local/ordeal"
	"outboxrelay/relay/postgres"
)

func TestMain(m *testing.M) {
	// The Pub/Sub client's metrics library starts a worker for the life of the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestUsage(t *testing.T) {
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"-cloud", "moon", "-rows", "-1", "-publishers", "0", "-rate", "-3"}, nil, &stderr); code != ordeal.ExitUsage {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{`-cloud is "moon"`, "-rows is -1", "-publishers is 0", "-rate is -3"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not in %s", want, &stderr)
		}
	}
}

func TestJudge(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, test := range []struct {
		name    string
		arrived []string
		table   []string // nil: as it should be
		change  func(*figures)
		want    []string
	}{
		{name: "as it should be", arrived: []string{"a", "b", "c"}},
		{name: "lost", arrived: []string{"a", "b"}, want: []string{"1 rows were lost"}},
		{name: "lost in the table", table: []string{"a", "c"}, arrived: []string{"a", "c"}, want: []string{"1 rows were lost", "1 committed rows are not in the table"}},
		{name: "in the table of nobody", table: []string{"a", "b", "c", "x"}, arrived: []string{"a", "b", "c", "x"}, want: []string{"1 rows are in the table that were not committed", "1 events arrived"}},
		{name: "out of order", arrived: []string{"a", "c", "b"}, want: []string{"1 rows arrived out of order"}},
		{name: "a ghost", arrived: []string{"a", "b", "c", "x"}, want: []string{"1 events arrived that were not committed"}},
		{name: "duplicates of a kill", arrived: []string{"a", "b", "a", "b", "c"}, change: func(f *figures) { f.allowed = 2 }},
		{name: "duplicates of nothing", arrived: []string{"a", "b", "c", "c"}, want: []string{"1 duplicates are more than kills and restarts explain"}},
		{name: "attempts", arrived: []string{"a", "b", "c"}, change: func(f *figures) { f.attempts = 2 }, want: []string{"2 attempts were counted"}},
		{name: "no mark", arrived: []string{"a", "b", "c"}, change: func(f *figures) { f.unmarked = 1 }, want: []string{"1 rows have no mark"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newArrivals()
			for i, id := range test.arrived {
				m := &pb.ReceivedMessage{Message: &pb.PubsubMessage{
					MessageId: string(rune('0' + i)), Attributes: map[string]string{postgres.AttrEventID: id, postgres.AttrAggregateID: "shop"},
				}}
				a.take([]*pb.ReceivedMessage{m, m}) // Pub/Sub hands each out twice
			}
			held := &truth{appended: abc, order: map[string][]string{"shop": abc}}
			if test.table != nil {
				held.order["shop"] = test.table
			}
			f := judge(held, a)
			if test.change != nil {
				test.change(f)
			}
			broken := f.broken()
			if len(broken) != len(test.want) {
				t.Fatalf("broken are %q, want %q", broken, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(broken[i], want) {
					t.Errorf("broken is %q, want %q", broken[i], want)
				}
			}
		})
	}
}
