package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
)

// standstill notices that something that is waited for does not get on.
type standstill struct {
	patience time.Duration
	since    time.Time
	at       string
	told     bool
}

func (d *desk) still() *standstill { return &standstill{patience: d.patience, since: time.Now()} }

// look takes where it stands. It calls tell once for each standstill that has
// become long.
func (s *standstill) look(ctx context.Context, at string, tell func()) {
	if at != s.at {
		s.at, s.since, s.told = at, time.Now(), false
	}
	if s.told || ctx.Err() != nil || time.Since(s.since) < s.patience {
		return
	}
	s.told = true
	tell()
}

// tellWait says on stderr what a replay waits for, as far as that can be seen.
// lane is "" and targets are none where there may be several: then what is found
// may hold up some of them.
func (d *desk) tellWait(ctx context.Context, lane contracts.Lane, targets []string) {
	paused, lanesErr := d.pausedLanes(ctx, lane)
	out, seenBy, targetsErr := d.targetsOut(ctx, targets)
	if ctx.Err() != nil {
		return
	}
	switch found := append(paused, out...); {
	case lane == "" && len(found) > 0:
		fmt.Fprintf(d.Stderr, "still waiting; what of it is concerned waits: %s\n", strings.Join(found, "; "))
	case len(found) > 0:
		fmt.Fprintf(d.Stderr, "still waiting: %s\n", strings.Join(found, "; "))
	case lanesErr != nil || targetsErr != nil:
		fmt.Fprintln(d.Stderr, "still waiting; what for cannot be seen here: /readyz of the service tells which targets are out")
	case lane == "":
		fmt.Fprintf(d.Stderr, "still waiting; what for is not known: no lane is paused, and %s sees no target out\n", seenBy)
	default:
		fmt.Fprintf(d.Stderr, "still waiting; what for is not known: its lane is not paused, and %s sees none of its targets out\n", seenBy)
	}
}

// pausedLanes tells which lanes are paused: that one, or any where it is "".
func (d *desk) pausedLanes(ctx context.Context, lane contracts.Lane) (found []string, err error) {
	var lanes adminapi.List[adminapi.Lane]
	if _, err := d.Get(ctx, "/lanes", nil, &lanes); err != nil {
		return nil, err
	}
	for _, l := range lanes.Items {
		if l.Paused && (lane == "" || l.Lane == lane) {
			found = append(found, terminal.Line(fmt.Sprintf("%s is %s", l.Lane, laneState(l))))
		}
	}
	return found, nil
}

// targetsOut tells which targets are out: of those, or of all where there are
// none. Each instance sees for itself; seenBy is the one that answered.
func (d *desk) targetsOut(ctx context.Context, targets []string) (found []string, seenBy string, err error) {
	var all adminapi.TargetList
	if _, err := d.Get(ctx, "/targets", nil, &all); err != nil {
		return nil, "", err
	}
	seenBy = cmp.Or(terminal.Line(all.Instance), "the service")
	for _, t := range all.Items {
		if t.State != "closed" && (len(targets) == 0 || slices.Contains(targets, t.Target)) {
			found = append(found, terminal.Line(fmt.Sprintf("%s is out (%s), as %s sees it", t.Target, cmp.Or(t.Reason, t.State), seenBy)))
		}
	}
	return found, seenBy, nil
}

// wait sleeps, and is false when ctx ended before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
