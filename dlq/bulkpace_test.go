package dlq

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

func TestBulkRateDoublesUpToItsFull(t *testing.T) {
	const step = 5 * time.Second
	for _, c := range []struct {
		full float64
		want []float64 // after 0, 1, 2, ... steps
	}{
		{100, []float64{10, 20, 40, 80, 100, 100}},
		{20, []float64{2, 4, 8, 16, 20}},
		{3, []float64{1, 2, 3, 3}},
		{0.5, []float64{0.5, 0.5}},
	} {
		t.Run(fmt.Sprint(c.full), func(t *testing.T) {
			var got []float64
			for n := range c.want {
				got = append(got, bulkRate(c.full, time.Duration(n)*step, step))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rates (-want +got):\n%s", diff)
			}
		})
	}
	if got := bulkRate(100, step-1, step); got != 10 {
		t.Errorf("just before the first step %v, want 10", got)
	}
	if got := bulkRate(1000, 10*365*24*time.Hour, step); got != 1000 {
		t.Errorf("after years %v, want 1000", got)
	}
}

func TestAllowanceNeverExceedsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.Float64Range(0.1, 1000).Draw(t, "rate")
		var a allowance
		start := time.Unix(0, 0)
		now, used := start, 0
		for range rapid.IntRange(1, 50).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			n := min(a.save(now, perSecond), rapid.IntRange(0, 100).Draw(t, "wanted"))
			a.use(n)
			used += n
		}
		if most := 1 + perSecond*now.Sub(start).Seconds() + 1e-6; float64(used) > most {
			t.Fatalf("%d in %s at %v a second, want %v at most", used, now.Sub(start), perSecond, most)
		}
	})
}

func TestAllowanceGivesWhatTheRateSays(t *testing.T) {
	var a allowance
	now, used := time.Unix(0, 0), 0
	for range 100 { // ten seconds
		n := a.save(now, 7)
		a.use(n)
		used += n
		now = now.Add(100 * time.Millisecond)
	}
	if used < 69 || used > 71 {
		t.Errorf("%d in ten seconds at 7 a second", used)
	}
	if n := a.save(now.Add(time.Hour), 7); n != 7 {
		t.Errorf("%d after an hour of rest, want no more than a second's", n)
	}
}

func TestEndingsStopAtMoreThanAFifth(t *testing.T) {
	for _, c := range []struct {
		name, ends string // d: delivered, f: failed
		want       string // what the words hold; "" when it goes on
	}{
		{"none", "", ""},
		{"too few to judge", "ffff", ""},
		{"exactly a fifth", "fdddd", ""},
		{"more than a fifth", "fdddf", "2 of the last 5"},
		{"ten of fifty", strings.Repeat("fdddd", 10), ""},
		{"eleven of fifty", strings.Repeat("fdddd", 10)[1:] + "ff", "11 of the last 50"},
		{"only the latest count", strings.Repeat("f", 100) + strings.Repeat("d", 50), ""},
		{"a good start does not help", strings.Repeat("d", 1000) + strings.Repeat("f", 11), "11 of the last 50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e endings
			for _, end := range c.ends {
				e.add(end == 'f')
			}
			got := e.tooMany()
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCanariesAreOfDifferentAggregates(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines string // a letter for each pin's aggregate; - for none
		want  string // x: goes first
	}{
		{"all different", "abcdefgh", "xxxxx---"},
		{"few items", "abc", "xxx"},
		{"one item", "a", "x"},
		{"one aggregate", "aaaaaaaa", "xxxxx---"},
		{"two aggregates", "aaaabbbb", "xxx-xx--"},
		{"the later aggregates come before more of the first", "aaaabcdef", "x---xxxx-"},
		{"without aggregate each stands alone", "--------", "xxxxx---"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var pins []pin
			for n, l := range c.lines {
				p := pin{id: fmt.Sprint(n), line: string(l)}
				if l == '-' {
					p.line = ""
				}
				pins = append(pins, p)
			}
			first := canaries(pins)
			var got strings.Builder
			for n := range pins {
				if first[n] {
					got.WriteByte('x')
				} else {
					got.WriteByte('-')
				}
			}
			if got.String() != c.want {
				t.Errorf("got %s, want %s", got.String(), c.want)
			}
		})
	}
}

func TestPinIsJudgedByItsItem(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	p := pin{id: "x", deadAt: at, replays: 2}
	base := Item{ID: "x", DeadAt: at, Replays: 2, Tier: contracts.ReviewRequired, State: contracts.DeadAwaitingReview}
	asked := []Decision{{Action: Replay, Reason: bulkMark("b") + ": because"}}
	for _, c := range []struct {
		name   string
		change func(*Item)
		want   pinState
	}{
		{"as it was", func(*Item) {}, pinWaiting},
		{"a note was added", func(i *Item) { i.Decisions = []Decision{{Action: Note}} }, pinWaiting},
		{"an older replay of a bulk replay", func(i *Item) { i.LastReplay = &Ended{Bulk: "a"} }, pinWaiting},
		{"being replayed for it", func(i *Item) { i.Replaying = &Request{Bulk: "b"} }, pinReplaying},
		{"being replayed for a person", func(i *Item) { i.Replaying = &Request{} }, pinSkipped},
		{"being replayed for another", func(i *Item) { i.Replaying = &Request{Bulk: "a"} }, pinSkipped},
		{"delivered for it", func(i *Item) {
			i.Replays, i.State, i.LastReplay = 3, contracts.DeadReplayed, &Ended{Bulk: "b", Delivered: true}
		}, pinDelivered},
		{"failed for it", func(i *Item) { i.Replays, i.LastReplay = 3, &Ended{Bulk: "b"} }, pinFailed},
		{"failed for it, now replayed for a person", func(i *Item) {
			i.Replays, i.LastReplay, i.Replaying = 3, &Ended{Bulk: "b"}, &Request{}
		}, pinFailed},
		{"failed for it, then delivered for a person", func(i *Item) {
			i.Replays, i.State, i.LastReplay, i.Decisions = 4, contracts.DeadReplayed, &Ended{Delivered: true}, asked
		}, pinFailed},
		{"delivered for a person", func(i *Item) {
			i.Replays, i.State, i.LastReplay = 3, contracts.DeadReplayed, &Ended{Delivered: true}
		}, pinSkipped},
		{"discarded", func(i *Item) { i.State = contracts.DeadDiscarded }, pinSkipped},
		{"replayed by its schedule", func(i *Item) { i.Replays = 3 }, pinSkipped},
		{"died again", func(i *Item) { i.DeadAt = at.Add(time.Second) }, pinSkipped},
		{"blocked", func(i *Item) { i.Tier = contracts.SecurityBlock }, pinSkipped},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := base
			c.change(&i)
			if got := p.judge(&i, "b"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		if got := p.judge(nil, "b"); got != pinSkipped {
			t.Errorf("got %s, want skipped", got)
		}
	})
}

func TestCancelledBulkKeepsItsEnd(t *testing.T) {
	r := &bulkRun{bulk: &Bulk{ID: "b", Delivered: 3, Phase: PhaseRamp}}
	got := &Bulk{ID: "b", State: BulkCancelled, EndedAt: noon, EndReason: "wrong filter"}
	want := *got
	want.Delivered, want.Phase = 3, PhaseRamp
	if writes := r.progressOn(got, &bulkEnd{BulkDone, actionFinish, "all through"}); len(writes) != 0 {
		t.Errorf("%d writes beside its own, want none", len(writes))
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("bulk replay (-want +got):\n%s", diff)
	}
}

func TestChunksHoldAllPinsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []pin
		size := rapid.SampledFrom([]int{10, 1500}).Draw(t, "bytes of an ID")
		for n := range rapid.IntRange(0, 1300).Draw(t, "pins") {
			want = append(want, pin{id: fmt.Sprintf("%0*d", size, n), deadAt: time.Unix(int64(n), 0), replays: n % 5, line: fmt.Sprint(n % 7)})
		}
		var got []pin
		last := ""
		for _, w := range chunks("b", want) {
			items, _ := w.Fields[pinItems].([]any)
			if len(items) > chunkPins || len(items)*size > chunkBytes {
				t.Fatalf("%d items of %d bytes in a document", len(items), size)
			}
			if w.ID <= last {
				t.Fatalf("document %s after %s", w.ID, last)
			}
			last = w.ID
			for _, i := range items { // as the store gives integers back
				m, _ := i.(map[string]any)
				m[pinReplays] = int64(m[pinReplays].(int))
			}
			got = append(got, decodePins(Doc{Fields: w.Fields})...)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(pin{})); diff != "" {
			t.Fatalf("pins (-want +got):\n%s", diff)
		}
	})
}
