package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// overview is what the screen that everybody starts on shows.
type overview struct {
	Instance  string
	Elsewhere string // how many outboxes, or shards of them, others relay: their lag and breakers are not known here; "": none
	Troubles  []trouble
	Wrong     int // of these, how many cannot wait
	Lanes     []laneFigures
	Outboxes  []admin.OutboxStatus
	Leader    string // the instance that does what only one may; "" where there are no leases
	Targets   []admin.Target
	Tiers     []tierFigures
	Freezes   int64
	Counted   time.Time // zero: nothing is known of the dead letters
	Quiet     []string  // what is well, for when nothing else is to be told
}

// tierFigures are one tier as the page shows it.
type tierFigures struct {
	admin.TierSummary
	Means string // what its dead letters wait for
}

// tierMeans says what becomes of a tier's dead letters.
var tierMeans = map[contracts.Tier]string{
	contracts.SafeAuto:       "replayed by themselves",
	contracts.ReviewRequired: "wait for an operator",
	contracts.SecurityBlock:  "wait for the security role; their aggregates stay frozen until somebody releases them",
}

// addOverview adds that screen.
func addOverview(s *server) {
	s.screen("/{$}", "overview.html", s.overview)
	addChart(s)
}

// facts are what the overview is made of. Of all that the admin API is asked, the
// summary and the work queues alone may be missing: the rest is in the instance's memory.
type facts struct {
	lanes    *admin.LaneList
	outboxes *admin.OutboxList
	targets  *admin.TargetList
	summary  *admin.Summary // nil: Firestore does not answer
	queues   *queueFacts    // nil: they cannot be counted
}

func (s *server) factsOf(ctx context.Context, a *ask) (*facts, error) {
	f := &facts{}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { f.lanes, err = get[admin.LaneList](ctx, a, apiPath("lanes"), nil); return err })
	g.Go(func() (err error) {
		f.outboxes, err = get[admin.OutboxList](ctx, a, apiPath("outboxes"), nil)
		return err
	})
	g.Go(func() (err error) {
		f.targets, err = get[admin.TargetList](ctx, a, apiPath("targets"), nil)
		return err
	})
	g.Go(func() (err error) {
		f.summary, err = get[admin.Summary](ctx, a, apiPath("dlq", "summary"), nil)
		return unlessAway(err)
	})
	g.Go(func() (err error) { f.queues, err = s.queueFactsOf(ctx, a); return unlessAway(err) })
	return f, g.Wait()
}

// unlessAway forgives that something cannot be read now.
func unlessAway(err error) error {
	if p, ok := errors.AsType[*admin.Problem](err); ok && p.Status >= http.StatusInternalServerError {
		return nil
	}
	return err
}

func (s *server) overview(ctx context.Context, v *visit) (*page, error) {
	f, err := s.factsOf(ctx, v.ask)
	if err != nil {
		return nil, err
	}
	all := s.samples.all()
	o := overview{
		Instance: f.lanes.Instance, Elsewhere: elsewhereInWords(f.outboxes), Outboxes: f.outboxes.Items, Leader: f.outboxes.QueueOwner, Targets: f.targets.Items, Troubles: troublesOf(f, all),
	}
	for _, t := range o.Troubles {
		if t.Bad {
			o.Wrong++
		}
	}
	for _, l := range f.lanes.Items {
		o.Lanes = append(o.Lanes, figuresOf(l, all))
	}
	if f.summary != nil {
		o.Freezes, o.Counted = f.summary.Freezes, f.summary.At
		for _, t := range f.summary.Tiers {
			o.Tiers = append(o.Tiers, tierFigures{t, tierMeans[t.Tier]})
		}
	}
	o.Quiet = quietOf(f, o.Elsewhere != "")
	return &page{Title: "Overview", Section: "overview", Follows: []string{topicClock}, Content: o}, nil
}

// quietOf says what is well, when nothing is wrong; where other instances relay outboxes
// too, no more than the one that answers can know.
func quietOf(f *facts, shared bool) []string {
	lanes, targets := "delivers", "answers"
	if shared {
		lanes, targets = orThis(f.lanes.Instance)+" delivers", "answers "+orThis(f.lanes.Instance)
	}
	out := []string{
		fmt.Sprintf("Every lane runs, and %s within its SLA (%s).", lanes, plural(len(f.lanes.Items), "lane", "lanes")),
		fmt.Sprintf("Every outbox is listened to (%s), and every target %s (%d).", outboxesInWords(f.outboxes), targets, len(f.targets.Items)),
		"No dead letter waits for a person, and no aggregate is frozen.",
	}
	if f.queues != nil && len(f.queues.Items) > 0 {
		out = append(out, fmt.Sprintf("No document of a work queue waits for a person, or for long (%s).", plural(len(f.queues.Items), "queue", "queues")))
	}
	return out
}
