package console

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/bulk"
)

// bulkContent is one bulk replay.
type bulkContent struct {
	Barred   *closedTo
	B        bulkView
	Sentence string // how it stands, and what comes next
	Failed   []string
	Again    string // address of a dry run of those that failed; ""
	Rest     string // address of a dry run of what is open of the same selection; ""
	Cancel   *act
	Command  string
}

// bulkDone tells of actions that were taken.
var bulkDone = map[string]string{
	"start":  "It was started. It does not need this page: you can come back to it at any time.",
	"cancel": "It is cancelled: nothing more is asked for.",
}

func loadBulk(ctx context.Context, v *visit) (*page, error) {
	p := &page{Title: "Bulk replay", Section: "replays"}
	if why := bulksBarred(v); why != nil {
		p.Content = bulkContent{Barred: why}
		return p, nil
	}
	id := v.PathValue("id")
	b, err := get[admin.Bulk](ctx, v.ask, apiPath("replays", id), nil)
	if err != nil {
		return nil, err
	}
	c := bulkContent{B: viewOf(*b), Failed: b.FailedIDs, Command: shell("outbox-relay", "dlq", "follow", b.ID)}
	c.Sentence = c.B.sentence() + c.B.heldUp()
	if len(b.FailedIDs) > 0 {
		c.Again = address("/replays/new", url.Values{"ids": b.FailedIDs})
	}
	if left := fromAPI(b.Filter); !c.B.Running() && b.Waiting > 0 && len(left) > 0 {
		c.Rest = left.at("/replays/new")
	}
	if c.B.Running() {
		cancel := c.B.cancel().retyped(v)
		c.Cancel = &cancel
	}
	p.Follows, p.Content = []string{topicBulks + ":" + b.ID}, c
	p.Notice = doneNotice(v, bulkDone)
	return p, nil
}

func cancelBulk(ctx context.Context, v *visit) (string, error) {
	id := v.PathValue("id")
	_, err := post[admin.Bulk](ctx, v.ask, apiPath("replays", id, "cancel"), admin.OptionalWhy{Reason: v.reason()}, nil)
	return done(pathTo("replays", id), "cancel"), err
}

// sentence says how it stands, and what comes of that.
func (v bulkView) sentence() string {
	switch v.State {
	case dlq.BulkRunning:
		plan := bulk.PlanOf(v.Total, v.RatePerSecond)
		if v.Phase == dlq.PhaseCanary {
			return fmt.Sprintf("The first %d are on their way. If more than %d of them fails, it stops and the rest stays as it is.", plan.Canary, plan.CanaryMayFail)
		}
		left := time.Duration(float64(v.Waiting) / v.RatePerSecond * float64(time.Second))
		return fmt.Sprintf("The first ones went well. It goes on, ever faster up to %g a second: at least %s for the rest. It stops when more than %d %% of the last %d fail.",
			v.RatePerSecond, roughly(left), plan.MaxFailed, plan.Latest)
	case dlq.BulkStopped:
		if v.Skipped == v.Total {
			return fmt.Sprintf("It stopped by itself: %s. All of it is as it was.", v.EndReason)
		}
		return fmt.Sprintf("It stopped by itself: %s. %s not asked for and %s as they were. Look at what failed and mend that, then replay again.",
			v.EndReason, plural(v.Waiting, "dead letter was", "dead letters were"), is(v.Waiting))
	case dlq.BulkCancelled:
		why := ": " + v.EndReason
		if v.EndReason == dlq.NoReason {
			why = " and gave no reason"
		}
		text := fmt.Sprintf("%s cancelled it%s. %s not asked for and %s as they were.", v.CancelledBy, why,
			plural(v.Waiting, "dead letter was", "dead letters were"), is(v.Waiting))
		if v.Replaying > 0 {
			text += fmt.Sprintf(" %s still under way and will end by themselves.", plural(v.Replaying, "replay is", "replays are"))
		}
		return text
	case dlq.BulkDone:
	default:
		return fmt.Sprintf("It is %s, which this version of the service does not know: it is left as it is, for a version that does. %s not asked for yet.",
			v.State, plural(v.Waiting, "dead letter was", "dead letters were"))
	}
	if v.Delivered == v.Total {
		return "All of it was delivered."
	}
	return fmt.Sprintf("It is through: %d of %d were delivered, %d failed, and %d were passed over%s.",
		v.Delivered, v.Total, v.Failed, v.Skipped, v.passedFor())
}

// heldUp says what of one that runs cannot go on, and why; "" where nothing is known.
func (v bulkView) heldUp() string {
	why := dlq.ReasonsInWords(v.HeldFor)
	if why == "" || v.State != dlq.BulkRunning {
		return ""
	}
	n := 0
	for _, some := range v.HeldFor {
		n += some
	}
	they := "They go on by themselves"
	if n == 1 {
		they = "It goes on by itself"
	}
	return fmt.Sprintf(" %s now (%s). %s once that has changed.", plural(n, "dead letter cannot go on", "dead letters cannot go on"), why, they)
}

// passedFor says why those were that were passed over.
func (v bulkView) passedFor() string {
	if why := dlq.ReasonsInWords(v.SkippedFor); why != "" {
		return " (" + why + ")"
	}
	return ""
}

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (v bulkView) cancel() act {
	a := act{
		Name: "cancel", Label: "Cancel it", Post: pathTo("replays", v.ID, "cancel"), Danger: true, Allowed: true,
		Command: shell("outbox-relay", "dlq", "cancel", v.ID, "--reason", "..."),
		Will: []string{
			plural(v.Waiting, "dead letter that was not asked for stays as it is.", "dead letters that were not asked for stay as they are."),
			plural(v.Replaying, "replay that is under way ends by itself.", "replays that are under way end by themselves."),
			"What was delivered stays delivered. It cannot be taken up again; a new bulk replay can take the rest.",
		},
	}
	return a
}
