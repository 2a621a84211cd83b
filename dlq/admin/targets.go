package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Target is where records are delivered to, and whether it answers.
type Target struct {
	Target   string               `json:"target" example:"FUNNEL" doc:"Its name in the catalog."`
	Kind     contracts.TargetKind `json:"kind" enum:"pubsub,handler"`
	Topic    string               `json:"topic,omitempty" example:"ier-funnel-standard" doc:"Of a Pub/Sub target."`
	State    string               `json:"state" enum:"closed,half-open,open" doc:"Of its breaker: closed while it answers; open while nothing is sent to it; half-open while a probe is."`
	Since    time.Time            `json:"since,omitzero" doc:"When it stopped to answer, or answered again."`
	Reason   string               `json:"reason,omitempty" example:"Unavailable" doc:"The code of the last outage; left out while it answers."`
	Error    string               `json:"error,omitempty" example:"publish: rpc error: code = Unavailable desc = try later" doc:"The text of the last outage; left out while it answers."`
	Failures int                  `json:"failures" doc:"Outages in a row."`
	Outboxes []string             `json:"outboxes" nullable:"false" doc:"Those with events for it."`
	Lanes    []contracts.Lane     `json:"lanes" nullable:"false" doc:"Those in which they run."`
	Waiting  []TargetWaiting      `json:"waiting" nullable:"false" doc:"Records that wait for it, by outbox; those of the outboxes that the instance that answers owns."`
}

// TargetList is all targets.
type TargetList struct {
	Items    []Target `json:"items" nullable:"false"`
	Instance string   `json:"instance,omitempty" example:"relay-7c9f" doc:"The instance that answers, whose breakers these are."`
}

// targets adds the operation about targets.
func (a *api) targets() {
	register(a, route{
		method: http.MethodGet, path: "/targets", role: dlq.Viewer, name: "list-targets", tag: tagService,
		summary: "List targets", description: "Whether they answer, as the instance that answers sees it: each has breakers of its own.",
	}, a.listTargets)
}

func (a *api) listTargets(context.Context, *struct{}) (*output[TargetList], error) {
	items := convert(a.config.Status.Targets(), func(s TargetStatus) Target {
		spec := a.config.Catalog.Targets[s.Target]
		t := Target{
			Target: s.Target, Kind: spec.Kind, Topic: spec.Topic, State: s.State, Since: s.Since, Reason: s.Reason, Error: s.Error, Failures: s.Failures,
			Waiting: append([]TargetWaiting{}, s.Waiting...),
		}
		t.Outboxes, t.Lanes = usersOf(a.config.Catalog, s.Target)
		return t
	})
	return &output[TargetList]{TargetList{items, a.config.Status.Instance().Name}}, nil
}

// usersOf tells which outboxes have events for a target, and in which lanes.
func usersOf(c *contracts.Catalog, target string) (outboxes []string, lanes []contracts.Lane) {
	uses := make(map[contracts.Lane]bool)
	outboxes, lanes = []string{}, []contracts.Lane{}
	for _, o := range c.Outboxes {
		for _, e := range o.Events {
			if !slices.Contains(e.Targets, target) {
				continue
			}
			uses[e.Lane] = true
			if !slices.Contains(outboxes, o.Name) {
				outboxes = append(outboxes, o.Name)
			}
		}
	}
	for _, l := range contracts.Lanes() {
		if uses[l] {
			lanes = append(lanes, l)
		}
	}
	return outboxes, lanes
}
