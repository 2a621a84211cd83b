package bulk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

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
			var pins []dlq.Pin
			for n, l := range c.lines {
				p := dlq.Pin{ID: fmt.Sprint(n), Line: string(l)}
				if l == '-' {
					p.Line = ""
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
	p := dlq.Pin{ID: "x", DeadAt: at, Replays: 2}
	base := dlq.Item{ID: "x", DeadAt: at, Replays: 2, Tier: contracts.ReviewRequired, State: contracts.DeadAwaitingReview}
	asked := []dlq.Decision{{Action: dlq.Replay, Reason: mark("b") + ": because"}}
	for _, c := range []struct {
		name   string
		change func(*dlq.Item)
		want   pinState
	}{
		{"as it was", func(*dlq.Item) {}, pinWaiting},
		{"a note was added", func(i *dlq.Item) { i.Decisions = []dlq.Decision{{Action: dlq.Note}} }, pinWaiting},
		{"an older replay of a bulk replay", func(i *dlq.Item) { i.LastReplay = &dlq.Ended{Bulk: "a"} }, pinWaiting},
		{"being replayed for it", func(i *dlq.Item) { i.Replaying = &dlq.Request{Bulk: "b"} }, pinReplaying},
		{"being replayed for a person", func(i *dlq.Item) { i.Replaying = &dlq.Request{} }, pinSkipped},
		{"being replayed for another", func(i *dlq.Item) { i.Replaying = &dlq.Request{Bulk: "a"} }, pinSkipped},
		{"delivered for it", func(i *dlq.Item) {
			i.Replays, i.State, i.LastReplay = 3, contracts.DeadReplayed, &dlq.Ended{Bulk: "b", Delivered: true}
		}, pinDelivered},
		{"failed for it", func(i *dlq.Item) { i.Replays, i.LastReplay = 3, &dlq.Ended{Bulk: "b"} }, pinFailed},
		{"failed for it, now replayed for a person", func(i *dlq.Item) {
			i.Replays, i.LastReplay, i.Replaying = 3, &dlq.Ended{Bulk: "b"}, &dlq.Request{}
		}, pinFailed},
		{"failed for it, then delivered for a person", func(i *dlq.Item) {
			i.Replays, i.State, i.LastReplay, i.Decisions = 4, contracts.DeadReplayed, &dlq.Ended{Delivered: true}, asked
		}, pinFailed},
		{"withdrawn, then delivered for a person", func(i *dlq.Item) {
			i.Replays, i.State, i.LastReplay = 3, contracts.DeadReplayed, &dlq.Ended{Delivered: true}
			i.Decisions = append(slices.Clone(asked), dlq.Decision{Action: dlq.Note}, dlq.Decision{Action: dlq.Withdraw}, dlq.Decision{Action: dlq.Replay})
		}, pinSkipped},
		{"failed for it, replayed for a person, that withdrawn", func(i *dlq.Item) {
			i.Replays, i.LastReplay = 4, &dlq.Ended{}
			i.Decisions = append(slices.Clone(asked), dlq.Decision{Action: dlq.Replay}, dlq.Decision{Action: dlq.Withdraw})
		}, pinFailed},
		{"delivered for a person", func(i *dlq.Item) {
			i.Replays, i.State, i.LastReplay = 3, contracts.DeadReplayed, &dlq.Ended{Delivered: true}
		}, pinSkipped},
		{"discarded", func(i *dlq.Item) { i.State = contracts.DeadDiscarded }, pinSkipped},
		{"replayed by its schedule", func(i *dlq.Item) { i.Replays = 3 }, pinSkipped},
		{"died again", func(i *dlq.Item) { i.DeadAt = at.Add(time.Second) }, pinSkipped},
		{"blocked", func(i *dlq.Item) { i.Tier = contracts.SecurityBlock }, pinSkipped},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := base
			c.change(&i)
			if got := judge(p, &i, "b"); got.state != c.want || (got.why != "") != (c.want == pinSkipped) {
				t.Errorf("got %+v, want %s, and a reason for what is passed over", got, c.want)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		if got := judge(p, nil, "b"); got != passOver(passedGone) {
			t.Errorf("got %+v, want that it is gone", got)
		}
	})
}
