package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// Lane is one lane: whether it is paused everywhere, and how it does on the
// instance that answers.
type Lane struct {
	Lane        contracts.Lane `json:"lane" enum:"CRITICAL_LANE,STANDARD_LANE,BACKGROUND_LANE"`
	SLAMillis   int64          `json:"slaMillis" example:"500" doc:"From append to acknowledged delivery."`
	Paused      bool           `json:"paused" doc:"Somebody paused it, on all instances."`
	PausedBy    string         `json:"pausedBy,omitempty" example:"alice@example.com"`
	PausedAt    time.Time      `json:"pausedAt,omitzero"`
	PauseReason string         `json:"pauseReason,omitempty" example:"the consumer is being moved"`
	PausedHere  bool           `json:"pausedHere" doc:"The instance that answers obeys a pause, as all below."`
	Queued      int            `json:"queued"`
	InFlight    int            `json:"inFlight"`
	Waiting     int            `json:"waiting" doc:"For a retry, their own or an older record's."`
	Unsettled   []Unsettled    `json:"unsettled,omitempty" doc:"Delivered or failed, but Firestore does not answer the commits that write it down; by outbox, and left out where there are none."`
	Overdue     int            `json:"overdue" doc:"Of those queued, in flight or waiting: past the SLA now."`
	Oldest      time.Time      `json:"oldest,omitzero" doc:"When the oldest of them was appended; left out where there is none."`
	Received    int64          `json:"received" doc:"Taken into memory since it was started; a record that is taken again counts again."`
	Delivered   int64          `json:"delivered" doc:"Since it was started."`
	Breaches    int64          `json:"breaches" doc:"Delivered later than the SLA, since it was started."`
	P50Millis   int64          `json:"p50Millis,omitempty" doc:"The lag's median in the last minute; left out where nothing was delivered."`
	P99Millis   int64          `json:"p99Millis,omitempty" doc:"The lag that one in a hundred exceeds."`
}

// Unsettled is what waits of an outbox since Firestore does not answer, on the instance
// that answers.
type Unsettled struct {
	Outbox  string    `json:"outbox" example:"skillOutbox"`
	Records int       `json:"records" example:"12"`
	Since   time.Time `json:"since" doc:"Since when Firestore does not answer for it."`
}

// LaneList is all lanes.
type LaneList struct {
	Items    []Lane `json:"items" nullable:"false"`
	Instance string `json:"instance,omitempty" example:"relay-7c9f" doc:"The instance that answers."`
	Stopping bool   `json:"stopping" doc:"It is about to end."`
	Warning  string `json:"warning,omitempty" example:"Firestore cannot be reached: who paused what is not known" doc:"What is not known."`
}

// LaneControl is whether a lane is paused, and who said so last.
type LaneControl struct {
	Lane   contracts.Lane `json:"lane" example:"BACKGROUND_LANE"`
	Paused bool           `json:"paused"`
	By     string         `json:"by,omitempty" example:"alice@example.com" doc:"Left out, as all below, for a lane that was never paused."`
	At     time.Time      `json:"at,omitzero"`
	Reason string         `json:"reason,omitempty" example:"the consumer is being moved"`
}

// OutboxList is all outboxes.
type OutboxList struct {
	Items      []OutboxStatus `json:"items" nullable:"false"`
	QueueOwner string         `json:"queueOwner,omitempty" example:"relay-7c9f" doc:"The instance that runs bulk replays, alerts and releases."`
}

type laneInput struct {
	Lane contracts.Lane `path:"lane" example:"BACKGROUND_LANE" doc:"The lane's name."`
	Body *OptionalWhy
}

// lanes adds the operations about lanes and outboxes.
func (a *api) lanes() {
	register(a, route{
		method: http.MethodGet, path: "/lanes", role: dlq.Viewer, name: "list-lanes", tag: tagService,
		summary: "List lanes", description: "Whether they are paused, as it was up to ten seconds ago, and how they do on the instance that answers.",
	}, a.listLanes)
	register(a, route{
		method: http.MethodGet, path: "/outboxes", role: dlq.Viewer, name: "list-outboxes", tag: tagService,
		summary: "List outboxes", description: "Who relays each, since when, and how it does, as the instance that answers sees it.",
	}, a.listOutboxes)
	errs := []int{http.StatusNotFound, http.StatusConflict}
	register(a, route{
		method: http.MethodPost, path: "/lanes/{lane}/pause", role: dlq.Operator, name: "pause-lane", tag: tagService,
		summary: "Pause a lane", description: "On all instances: its records wait in Firestore. What is being delivered is finished. One that is paused stays as it is.", also: errs,
	}, func(ctx context.Context, in *laneInput) (*output[LaneControl], error) {
		return a.setLane(ctx, in, true)
	})
	register(a, route{
		method: http.MethodPost, path: "/lanes/{lane}/resume", role: dlq.Operator, name: "resume-lane", tag: tagService,
		summary: "Resume a lane", description: "On all instances. One that runs stays as it is.", also: errs,
	}, func(ctx context.Context, in *laneInput) (*output[LaneControl], error) {
		return a.setLane(ctx, in, false)
	})
}

// listLanes answers what this instance knows also while Firestore is away: that
// is when somebody looks.
func (a *api) listLanes(ctx context.Context, _ *struct{}) (*output[LaneList], error) {
	here := a.config.Status.Instance()
	out := &output[LaneList]{LaneList{Instance: here.Name, Stopping: here.Stopping}}
	lanes := a.config.Status.Lanes()
	controls, err := a.controlsOf(ctx, lanes)
	if err != nil {
		a.config.Log.Warn("lane controls cannot be read", zap.Error(err))
		out.Body.Warning = unread(err) + ": who paused what is not known"
	}
	out.Body.Items = convert(lanes, func(s LaneStatus) Lane {
		lane := laneOf(s)
		if err == nil {
			c := controls[s.Lane]
			if !c.Paused {
				c = dlq.LaneControl{} // who resumed it is no news
			}
			lane.Paused, lane.PausedBy, lane.PausedAt, lane.PauseReason = c.Paused, c.By, c.At, c.Reason
		}
		return lane
	})
	return out, nil
}

// laneOf renders a lane as this instance knows it.
func laneOf(s LaneStatus) Lane {
	return Lane{
		Lane: s.Lane, SLAMillis: s.SLA.Milliseconds(), Paused: s.PausedHere, PausedHere: s.PausedHere, PausedBy: s.PausedBy, PausedAt: s.PausedAt,
		PauseReason: s.PauseReason, Queued: s.Queued, InFlight: s.InFlight, Waiting: s.Waiting, Unsettled: s.Unsettled, Overdue: s.Overdue, Oldest: s.Oldest,
		Received: s.Received, Delivered: s.Delivered, Breaches: s.Breaches, P50Millis: s.P50.Milliseconds(), P99Millis: s.P99.Milliseconds(),
	}
}

const (
	// controlsGood is how long a read of the lane controls is good for: the lanes
	// are looked at by many, and change rarely.
	controlsGood = 10 * time.Second
	// controlsDiffer is how long it is where the relay has heard otherwise, and one
	// of both is late.
	controlsDiffer = time.Second
)

// controlsOf tells who paused what.
func (a *api) controlsOf(ctx context.Context, lanes []LaneStatus) (map[contracts.Lane]dlq.LaneControl, error) {
	controls, readAt, err := a.controls.get(ctx)
	for _, l := range lanes {
		if err == nil && controls[l.Lane].Paused != l.PausedHere && a.config.Now().Sub(readAt) >= controlsDiffer {
			a.controls.forget()
			controls, _, err = a.controls.get(ctx)
			break
		}
	}
	return controls, err
}

func (a *api) listOutboxes(context.Context, *struct{}) (*output[OutboxList], error) {
	return &output[OutboxList]{OutboxList{Items: convert(a.config.Status.Outboxes(), func(o OutboxStatus) OutboxStatus {
		o.Listeners = append([]ListenerStatus{}, o.Listeners...)
		return o
	}), QueueOwner: a.config.Status.QueueOwner()}}, nil
}

func (a *api) setLane(ctx context.Context, in *laneInput, paused bool) (*output[LaneControl], error) {
	c, err := a.config.Lanes.SetLane(ctx, in.Lane, paused, actor(ctx), in.Body.reason())
	a.controls.forget()
	if r, ok := errors.AsType[*dlq.Refusal](err); ok && r.Kind == dlq.Conflict {
		if c, err = a.alreadySo(ctx, in.Lane, paused, err); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return &output[LaneControl]{LaneControl{c.Lane, c.Paused, c.By, c.At, c.Reason}}, nil
}

// alreadySo answers how a lane stands that needed no change. Where it was changed
// meanwhile the refusal stays.
func (a *api) alreadySo(ctx context.Context, lane contracts.Lane, paused bool, refusal error) (*dlq.LaneControl, error) {
	controls, err := a.config.Lanes.LaneControls(ctx)
	if err != nil {
		return nil, err
	}
	if c := controls[lane]; c.Paused == paused {
		return &c, nil
	}
	return nil, refusal
}
