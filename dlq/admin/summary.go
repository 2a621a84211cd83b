package admin

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Summary is how many dead letters wait, and since when.
type Summary struct {
	Tiers   []TierSummary `json:"tiers" nullable:"false" doc:"Every tier, mildest first."`
	Freezes int64         `json:"freezes" doc:"Aggregates whose records are held, or not let go on yet."`
	At      time.Time     `json:"at" doc:"When it was counted: some seconds ago, or up to a minute where there are very many."`
	Warning string        `json:"warning,omitempty" example:"Firestore cannot be reached: this is what was counted last" doc:"What is not known."`
}

// TierSummary is one tier.
type TierSummary struct {
	Tier      contracts.Tier `json:"tier" enum:"SAFE_AUTO,REVIEW_REQUIRED,SECURITY_BLOCK"`
	Open      int64          `json:"open"`
	Oldest    time.Time      `json:"oldest,omitzero" doc:"When the oldest open one died; left out where there is none."`
	Replaying int            `json:"replaying" doc:"Replays that somebody asked for and that have not ended; 200 of all tiers are counted at most."`
	States    []StateSummary `json:"states" nullable:"false" doc:"The states in which its dead letters wait."`
}

// StateSummary is one state of a tier.
type StateSummary struct {
	State  contracts.DeadState `json:"state" example:"awaiting_review"`
	Open   int64               `json:"open"`
	Oldest time.Time           `json:"oldest,omitzero"`
}

// summary adds the operation that counts the dead letters.
func (a *api) summary() {
	register(a, route{
		method: http.MethodGet, path: "/dlq/summary", role: dlq.Viewer, name: "summarize-dead-letters", tag: tagDeadLetters,
		summary:     "Count what is open",
		description: "Each tier with its count and its oldest, and the freezes. All who ask within some seconds get the same answer.",
	}, a.summarize)
}

// countsGood is how long counts are good for. Each thousand counted costs a
// read: so the more there are, the less often they are counted, and up to fifty
// thousand that comes to about a read a second, however many look.
func countsGood(c *dlq.Counts) time.Duration {
	return min(10*time.Second+time.Duration(c.Open()/1000)*time.Second, time.Minute)
}

func (a *api) summarize(ctx context.Context, _ *struct{}) (*output[Summary], error) {
	counts, readAt, err := a.counts.get(ctx)
	if err != nil && readAt.IsZero() {
		return nil, err
	}
	out := &output[Summary]{Summary{Freezes: counts.Freezes, At: counts.At}}
	if err != nil {
		a.config.Log.Warn("dead letters cannot be counted", zap.Error(err))
		out.Body.Warning = unread(err) + ": this is what was counted last"
	}
	out.Body.Tiers = convert(counts.Tiers, func(t dlq.TierCount) TierSummary {
		return TierSummary{
			Tier: t.Tier, Open: t.Open, Oldest: t.Oldest, Replaying: t.Replaying,
			States: convert(t.States, func(s dlq.StateCount) StateSummary { return StateSummary{s.State, s.Open, s.Oldest} }),
		}
	})
	return out, nil
}
