package dlq

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// LaneControl is whether a lane is paused, and who said so last.
type LaneControl struct {
	Lane   contracts.Lane
	Paused bool
	By     string // empty, as all below, for a lane that was never paused
	At     time.Time
	Reason string
}

const (
	lanePaused   = "paused"
	actionPause  = "pause"
	actionResume = "resume"
	stateRunning = "running"
)

func decodeLaneControl(lane contracts.Lane, d Doc) LaneControl {
	f := reading(d.Fields)
	return LaneControl{Lane: lane, Paused: f.flag(lanePaused), By: f.text(fieldBy), At: f.time(fieldAt), Reason: f.text(fieldReason)}
}

// LaneControls reads how each lane of the catalog stands.
func (q *Queue) LaneControls(ctx context.Context) (map[contracts.Lane]LaneControl, error) {
	lanes := slices.Sorted(maps.Keys(q.catalog.Lanes))
	ids := make([]string, len(lanes))
	for n, lane := range lanes {
		ids[n] = string(lane)
	}
	docs, err := q.store.Get(ctx, contracts.CollectionLaneControl, ids...)
	if err != nil {
		return nil, fmt.Errorf("read lane controls: %w", err)
	}
	out := make(map[contracts.Lane]LaneControl, len(docs))
	for n, d := range docs {
		out[lanes[n]] = decodeLaneControl(lanes[n], d)
	}
	return out, nil
}

// SetLane pauses a lane of all instances, or resumes it. One that is already
// so is refused, as a Conflict. The reason may be left out.
func (q *Queue) SetLane(ctx context.Context, lane contracts.Lane, paused bool, a Actor, reason string) (*LaneControl, error) {
	reason, err := optionalReason(reason)
	if err != nil {
		return nil, err
	}
	verb := actionResume
	if paused {
		verb = actionPause
	}
	if a.Role < Operator {
		return nil, forbidden(a, Operator, "to "+verb+" a lane")
	}
	if _, known := q.catalog.Lanes[lane]; !known {
		return nil, &Refusal{Kind: NotFound, Detail: fmt.Sprintf("there is no lane %q", lane), Hint: "the lanes are " + q.laneNames()}
	}
	id := q.newID()
	control := LaneControl{Lane: lane, Paused: paused, By: a.Name, At: q.moment(), Reason: reason}
	_, err = q.commit(ctx, func(ctx context.Context) ([]Write, error) {
		doc, err := q.get(ctx, contracts.CollectionLaneControl, string(lane))
		if err != nil {
			return nil, err
		}
		current := decodeLaneControl(lane, doc)
		switch {
		case reading(doc.Fields).text(fieldID) == id: // the answer of its commit was lost
			return nil, nil
		case current.Paused == paused:
			return nil, alreadySo(current)
		}
		set := Write{Collection: contracts.CollectionLaneControl, ID: string(lane), Op: OpCreate, Fields: map[string]any{
			lanePaused: paused, fieldBy: control.By, fieldAt: control.At, fieldReason: reason, fieldID: id,
		}}
		if doc.Exists() {
			set.Op, set.IfUnchangedSince = OpUpdate, doc.UpdateTime
		}
		entry := &Entry{
			ID: id, Actor: a.Name, Role: a.Role, Action: verb, Subject: SubjectLane, On: string(lane), From: current.state(), To: control.state(), Reason: reason,
		}
		return []Write{set, entry.Write()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s lane %s: %w", verb, lane, err)
	}
	q.log.Info("decision about a lane", zap.String("action", verb), zap.String("actor", a.Name), zap.String("lane", string(lane)))
	q.Ring(BellLanes)
	return &control, nil
}

func (c LaneControl) state() string {
	if c.Paused {
		return lanePaused
	}
	return stateRunning
}

func alreadySo(c LaneControl) *Refusal {
	r := &Refusal{Kind: Conflict, Detail: fmt.Sprintf("lane %s is %s already", c.Lane, c.state()), Hint: "there is nothing to do"}
	if c.By != "" {
		r.Detail += fmt.Sprintf(", by %s since %s: %s", c.By, clock(c.At), c.Reason)
	}
	return r
}

// laneNames names the catalog's lanes, the most urgent first.
func (q *Queue) laneNames() string {
	var names []string
	for _, lane := range contracts.Lanes() {
		if _, known := q.catalog.Lanes[lane]; known {
			names = append(names, string(lane))
		}
	}
	return strings.Join(names, ", ")
}
