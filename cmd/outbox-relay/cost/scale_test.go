package cost_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
)

// TestThePageSaysWhatIsComputed: what the words of docs/SIZING.md say beside its
// tables, which are written.
func TestThePageSaysWhatIsComputed(t *testing.T) {
	text, err := os.ReadFile("../../../docs/SIZING.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	if cost.PublishTime != cost.CommitTime {
		t.Error("the page has one time for a publish and a commit")
	}
	for _, want := range []string{
		fmt.Sprintf("publishes %d writes a second", cost.SequentialWrites),
		fmt.Sprintf("each sequence bears %d writes a second", cost.SequentialWrites),
		fmt.Sprintf("busiest lane by %d,", cost.RecordsOfSequence),
		fmt.Sprintf("are assumed to take %d ms", cost.PublishTime.Milliseconds()),
		fmt.Sprintf("a commit takes %d ms besides, a publish %d ms", cost.CommitTime.Milliseconds(), cost.PublishTime.Milliseconds()),
		fmt.Sprintf("add %d bytes to what is read of a record and %d to its mark", addedToRead, addedToMark),
		fmt.Sprintf("takes %d streams", cost.StreamsOfConnection),
		fmt.Sprintf("may be %v s late", cost.PolledWithin.Seconds()),
		fmt.Sprintf("of 1, 2 and 4 shards, within %v %%", 100*withinOfBound),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestLanesNeedWhatIsUnderWay: by Little's law.
func TestLanesNeedWhatIsUnderWay(t *testing.T) {
	all := func(lane contracts.Lane) *cost.Estimate {
		return estimate(t, func(w *cost.Workload) {
			w.Rate, w.Instances, w.Split = 2400, 4, map[string]float64{"wsOutbox": 1}
			o := w.Catalog.Outbox("wsOutbox")
			o.Shards = 8
			for _, e := range o.Events {
				e.Lane = lane
			}
		})
	}
	for lane, want := range map[contracts.Lane]cost.Lane{
		// Three instances are left, with 800 records/s each, and 240/s in each of the ten shards that are needed.
		contracts.CriticalLane:   {Workers: 64, WorkersNeeded: 40, InFlight: 1000, InFlightNeeded: 72},
		contracts.StandardLane:   {Workers: 64, WorkersNeeded: 40, InFlight: 1000, InFlightNeeded: 120},
		contracts.BackgroundLane: {Workers: 16, WorkersNeeded: 40, InFlight: 1000, InFlightNeeded: 216},
	} {
		e := all(lane)
		want.Lane, want.Rate = lane, 2400
		if !slices.Contains(e.Lanes, want) {
			t.Errorf("%s: got %+v, want %+v", lane, e.Lanes, want)
		}
		told := strings.Contains(strings.Join(e.Warnings, "\n"), "declare workers: 40")
		if told != (want.Workers < want.WorkersNeeded) {
			t.Errorf("%s: warned of few workers: %v", lane, told)
		}
	}
}

func TestListenersAreCounted(t *testing.T) {
	// An outbox has one for each shard and lane, one for each shard, and two beside several shards.
	e := estimate(t, func(w *cost.Workload) { w.Rate = 1 })
	if e.Listeners != 19 {
		t.Errorf("%d listeners, want one for each of 13 lanes and 6 outboxes", e.Listeners)
	}
	e = estimate(t, func(w *cost.Workload) { w.Rate, w.Instances = 10_000, 2 })
	if told := strings.Join(e.Warnings, "\n"); !strings.Contains(told, fmt.Sprintf("%d listeners are more than 1 instances open", e.Listeners)) {
		t.Errorf("no word of %d listeners in one instance: %s", e.Listeners, told)
	}
}

// TestTrafficIsThatOfDocuments: a larger payload is read and published once more.
func TestTrafficIsThatOfDocuments(t *testing.T) {
	small := estimate(t, func(w *cost.Workload) { w.Payload = 0 }).Traffic
	large := estimate(t, func(w *cost.Workload) { w.Payload = 1000 })
	for what, got := range map[string]float64{
		"read": large.Traffic.Read - small.Read - 1000, "published": large.Traffic.Published - small.Published - 1000*large.FanOut,
		"marked": large.Traffic.Marked - small.Marked, "samples": large.Traffic.Sampled - small.Sampled,
	} {
		if math.Abs(got) > 1e-6 {
			t.Errorf("%s: off by %v bytes", what, got)
		}
	}
	deleted := estimate(t, func(w *cost.Workload) { w.OnDelivered = contracts.DeleteDelivered }).Traffic
	if marked := estimate(t, nil).Traffic.Marked; deleted.Marked >= marked {
		t.Errorf("a deletion has %v bytes, a mark %v", deleted.Marked, marked)
	}
}

// TestRunsAreOfAllAndOfHalf: the page says of each run what it has half of.
func TestRunsAreOfAllAndOfHalf(t *testing.T) {
	for _, r := range cost.Runs() {
		parts := []float64{r.Shards, r.Instances, r.Workers}
		slices.Sort(parts)
		if parts[0] != 0.5 && parts[0] != 1 || parts[1] != 1 || parts[2] != 1 || r.Behind < time.Millisecond {
			t.Errorf("%+v", r)
		}
	}
}
