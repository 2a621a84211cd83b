package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// lanesPage is what the screen of the lanes shows.
type lanesPage struct {
	Instance string
	Warning  string
	Lanes    []laneDetail
}

// laneDetail is one lane, with what may be done about it.
type laneDetail struct {
	laneFigures
	Outboxes []string
	Targets  []string
	Act      act
}

// addLanes adds the lanes, with pause and resume.
func addLanes(s *server) {
	shown := s.screen("/lanes", "lanes.html", s.lanes)
	for _, verb := range []string{verbPause, verbResume} {
		s.action("/lanes/{lane}/"+verb, shown, func(ctx context.Context, v *visit) (string, error) {
			return s.setLane(ctx, v, verb)
		})
	}
}

const (
	verbPause  = "pause"
	verbResume = "resume"
)

func (s *server) lanes(ctx context.Context, v *visit) (*page, error) {
	list, err := get[admin.LaneList](ctx, v.ask, apiPath("lanes"), nil)
	if err != nil {
		return nil, err
	}
	all := s.samples.all()
	content := lanesPage{Instance: list.Instance, Warning: list.Warning}
	done := make(map[string]string)
	for _, l := range list.Items {
		d := laneDetail{laneFigures: figuresOf(l, all), Outboxes: outboxesOf(s.config.Catalog, l.Lane), Targets: targetsOf(s.config.Catalog, l.Lane)}
		d.Act = laneAct(v, d)
		content.Lanes = append(content.Lanes, d)
		tellLane(done, l)
	}
	return &page{Title: "Lanes", Section: "lanes", Follows: []string{topicLanes, topicClock}, Notice: doneNotice(v, done), Content: content}, nil
}

// tellLane adds what can be told of an action about a lane. What is not so any
// more is not told again: the page may stand open for long.
func tellLane(done map[string]string, l admin.Lane) {
	name := strings.ToLower(string(l.Lane))
	if !l.Paused {
		done[verbResume+"-"+name] = fmt.Sprintf("%s is resumed, on all instances: its records are delivered again.", l.Lane)
		return
	}
	done[verbPause+"-"+name] = fmt.Sprintf("%s is paused, on all instances: its records wait, and nothing is lost.", l.Lane)
	done[verbPause+"-already-"+name] = fmt.Sprintf("%s was paused already, by %s; that stays as it is.", l.Lane, l.PausedBy)
}

// laneAct is what may be done about a lane.
func laneAct(v *visit, d laneDetail) act {
	verb, label, will := verbPause, "Pause "+string(d.Lane.Lane), pauseWill(d)
	if d.Paused {
		verb, label, will = verbResume, "Resume "+string(d.Lane.Lane), resumeWill(d)
	}
	a := act{
		Name: verb + "-" + strings.ToLower(string(d.Lane.Lane)), Label: label, Post: pathTo("lanes", string(d.Lane.Lane), verb), Will: will,
		Allowed: v.who.May(dlq.Operator), Command: shell("outbox-relay", "lanes", verb, string(d.Lane.Lane)) + " --reason '...'",
	}
	if !a.Allowed {
		a.Why, a.Hint = "this needs the role operator, and you have "+v.who.Role.String(), "ask someone with the role operator"
	}
	return a.retyped(v)
}

func pauseWill(d laneDetail) []string {
	will := []string{
		fmt.Sprintf("The lane stops on all instances, within seconds, until somebody resumes it; a restart does not end the pause. It is for %s.", words(d.Outboxes)),
	}
	if d.InFlight > 0 {
		will = append(will, howMany(d.InFlight, "record that is in delivery here is", "records that are in delivery here are")+" delivered to the end.")
	}
	return append(
		will,
		fmt.Sprintf("%s, as all that is appended from now on. Nothing is lost, and no attempt is counted.", waitHere(d)),
		fmt.Sprintf("Nothing of this lane reaches %s meanwhile; replays of its dead letters wait too. The other lanes go on.", words(d.Targets)),
		fmt.Sprintf("What waits for more than %s misses the lane's SLA.", d.SLA),
	)
}

// waitHere tells what waits in the memory of the instance that answers; more may
// wait in Firestore, and in other instances.
func waitHere(d laneDetail) string {
	if d.Queued+d.Waiting == 0 {
		return "What comes waits in Firestore"
	}
	return fmt.Sprintf("The %s that this instance holds wait", thousands(d.Queued+d.Waiting))
}

func resumeWill(d laneDetail) []string {
	return []string{
		fmt.Sprintf("The lane goes on, on all instances, within seconds: the %s that this instance holds, and what was appended meanwhile to %s.",
			howMany(d.Queued+d.Waiting, "record", "records"), words(d.Outboxes)),
		fmt.Sprintf("They go to %s: the oldest of each aggregate first, as fast as the lane's workers and the targets allow.", words(d.Targets)),
	}
}

// words joins names as one says them.
func words(names []string) string {
	switch n := len(names); n {
	case 0:
		return "nobody"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

func (s *server) setLane(ctx context.Context, v *visit, verb string) (string, error) {
	lane := contracts.Lane(v.PathValue("lane"))
	asked := time.Now()
	control, err := post[admin.LaneControl](ctx, v.ask, apiPath("lanes", string(lane), verb), admin.OptionalWhy{Reason: v.reason()}, nil)
	if err != nil {
		return "", err
	}
	name := strings.ToLower(string(lane))
	if control.Paused && (control.By != v.who.Name || control.At.Before(asked.Add(-time.Minute))) {
		name = "already-" + name
	}
	return done(pathTo("lanes"), verb+"-"+name), nil
}
