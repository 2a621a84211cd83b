package console

import (
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// counting is an instance whose counters go on with every look at them.
type counting struct{ looks int64 }

func (c *counting) Lanes() []admin.LaneStatus {
	c.looks++
	return []admin.LaneStatus{{Lane: contracts.CriticalLane, Received: 50 * c.looks, Delivered: 20 * c.looks, P50: time.Millisecond, P99: 9 * time.Millisecond}}
}

func (c *counting) Outboxes() []admin.OutboxStatus {
	return []admin.OutboxStatus{
		{Outbox: "wsOutbox", Pending: new(30 * c.looks)}, {Outbox: "wsOutbox", Shard: 1, Pending: new(int64(1))}, {Outbox: "tagOutbox"},
	}
}

func (c *counting) Targets() []admin.TargetStatus  { return nil }
func (c *counting) QueueOwner() string             { return "" }
func (c *counting) Instance() admin.InstanceStatus { return admin.InstanceStatus{} }

func TestSamplesAreOfTheLastTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSamples(&counting{}, 0)
		defer s.close()
		if in, out := rates(s.all(), contracts.CriticalLane); in != nil || out != nil {
			t.Errorf("one sample makes a rate: %v, %v", in, out)
		}
		time.Sleep(20*time.Minute + time.Second)
		all := s.all()
		if n := len(all); n != 121 {
			t.Errorf("%d samples are kept, want 121", n)
		}
		in, out := rates(all, contracts.CriticalLane)
		if in == nil || *in != 10 || *out != 4 {
			t.Errorf("got %v and %v, want 10 and 4 a second", in, out)
		}
		if in, _ := rates(all, contracts.StandardLane); in != nil {
			t.Errorf("a lane that is not sampled has the rate %v", *in)
		}
		c := chartOf(all, contracts.CriticalLane)
		if c.In[0] != nil || *c.In[1] != 10 || *c.Out[120] != 4 || *c.P99[120] != 9 {
			t.Errorf("the lines begin with %v, %v and end with %v, %v", c.In[0], c.In[1], c.Out[120], c.P99[120])
		}
	})
}

func TestSamplesOfNoStatus(t *testing.T) {
	s := newSamples(nil, 0)
	defer s.close()
	if n := len(s.all()); n != 0 {
		t.Errorf("%d samples", n)
	}
}

func TestGrowth(t *testing.T) {
	series := func(values ...int64) []sample {
		var all []sample
		for n, v := range values {
			all = append(all, sample{at: time.Unix(0, 0).Add(time.Duration(n) * time.Minute), pending: map[string]int64{"o": v}})
		}
		return all
	}
	for _, tc := range []struct {
		name  string
		all   []sample
		grows bool
	}{
		{"none", nil, false},
		{"steadily", series(10, 60, 120, 180, 240), true},
		{"too short", series(10, 60, 120, 180), false},
		{"from long ago", series(900, 900, 10, 60, 120, 180, 240), true},
		{"little", series(1, 2, 3, 4, 99), false},
		{"a burst", series(10, 10, 10, 10, 900), false},
		{"it shrinks", series(900, 800, 700, 600, 500), false},
		{"it stays", series(500, 500, 500, 500, 500), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			from, to, grows := growth(tc.all, "o")
			if grows != tc.grows {
				t.Errorf("got %d to %d, %t, want %t", from, to, grows, tc.grows)
			}
			if _, _, grows := growth(tc.all, "unknown"); grows {
				t.Error("an outbox of which nothing is known grows")
			}
		})
	}
	list := &admin.OutboxList{Items: []admin.OutboxStatus{{Outbox: "o"}, {Outbox: "o", Shard: 1}}}
	if got := backlogTroubles(list, series(10, 600, 1200, 1800, 2400)); len(got) != 1 || got[0].What != "The backlog of o grows: 2,400 records are pending, 10 were 4 min ago." {
		t.Errorf("got %+v", got)
	}
}

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 500 * time.Millisecond: "500 ms", 2 * time.Second: "2 s", 2340 * time.Millisecond: "2.3 s", 30 * time.Second: "30 s",
		5 * time.Minute: "5 min", 3 * time.Hour: "3 h",
	} {
		if got := lasting(d); got != want {
			t.Errorf("%v is told as %q, want %q", d, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -100: "-100"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
		if got := thousands(&n); got != want {
			t.Errorf("a pointer to %d is written %q, want %q", n, got, want)
		}
	}
}
