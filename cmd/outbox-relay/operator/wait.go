package operator

import (
	"cmp"
	"context"
	"errors"
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

// waitsFor is what a replay may wait for. Zero fields are of a bulk replay, which there may
// be several for: what is found may then hold up some of them.
type waitsFor struct {
	lane    contracts.Lane
	outbox  string
	targets []string
	noted   adminapi.Waits // by whoever relays it
}

// tellWait says on stderr what a replay waits for, as far as that can be seen.
func (d *desk) tellWait(ctx context.Context, w waitsFor) {
	paused, lanesErr := d.pausedLanes(ctx, w.lane)
	unowned, outboxesErr := d.unownedOutboxes(ctx, w.outbox)
	out, seenBy, targetsErr := d.targetsOut(ctx, w.targets)
	if ctx.Err() != nil {
		return
	}
	switch found := slices.Concat(noted(w.noted, len(out) > 0), paused, unowned, out); {
	case w.lane == "" && len(found) > 0:
		fmt.Fprintf(d.Stderr, "still waiting; what of it is concerned waits: %s\n", strings.Join(found, "; "))
	case len(found) > 0:
		fmt.Fprintf(d.Stderr, "still waiting: %s\n", strings.Join(found, "; "))
	case lanesErr != nil || outboxesErr != nil || targetsErr != nil:
		fmt.Fprintln(d.Stderr, "still waiting; what for cannot be seen here: /readyz of the service tells which targets are out")
	case w.lane == "":
		fmt.Fprintf(d.Stderr, "still waiting; what for is not known: no lane is paused, every outbox has its owner, and %s sees no target out\n", seenBy)
	default:
		fmt.Fprintf(d.Stderr, "still waiting; what for is not known: its lane is not paused, its outbox has its owner, and %s sees none of its targets out\n", seenBy)
	}
}

// noted tells what whoever relays a dead letter noted on it. That its targets are out is left
// out where that is seen anyway.
func noted(w adminapi.Waits, seen bool) []string {
	switch {
	case w.Behind != "":
		return []string{terminal.Line(w.Behind + ", an older dead letter of its aggregate, comes first")}
	case len(w.Targets) > 0 && !seen:
		return []string{terminal.Line(strings.Join(w.Targets, ", ") + " did not answer whoever relays it")}
	}
	return nil
}

// unownedOutboxes tells which outboxes stand still, as nobody's lease of them stands: that
// one, or any where it is "". It fails where who answers does not have that one.
func (d *desk) unownedOutboxes(ctx context.Context, outbox string) (found []string, err error) {
	var all adminapi.List[adminapi.Outbox]
	if _, err := d.Get(ctx, "/outboxes", nil, &all); err != nil {
		return nil, err
	}
	seen := outbox == ""
	for _, o := range all.Items {
		if outbox != "" && o.Outbox != outbox {
			continue
		}
		seen = true
		if o.Lease == "held" || o.Lease == "" { // "": this relay has no leases
			continue
		}
		name, owner := o.Outbox, "nobody owns it"
		if o.Shards > 1 {
			name = fmt.Sprintf("%s.%d", o.Outbox, o.Shard)
		}
		if o.Owner != "" {
			owner = "its owner " + o.Owner + " hangs, crashed, or cannot renew it"
		}
		found = append(found, terminal.Line(fmt.Sprintf("%s is not relayed: its lease is %s, %s", name, o.Lease, owner)))
	}
	if !seen {
		return nil, errors.New("the instance that answers does not have the outbox in its catalog")
	}
	return found, nil
}

// pausedLanes tells which lanes are paused: that one, or any where it is "". It fails,
// beside what it found, where the service does not know of all.
func (d *desk) pausedLanes(ctx context.Context, lane contracts.Lane) (found []string, err error) {
	var lanes adminapi.Lanes
	if _, err := d.Get(ctx, "/lanes", nil, &lanes); err != nil {
		return nil, err
	}
	for _, l := range lanes.Items {
		if l.Paused && (lane == "" || l.Lane == lane) {
			found = append(found, terminal.Line(fmt.Sprintf("%s is %s", l.Lane, laneState(l))))
		}
	}
	if lanes.Warning != "" {
		return found, errors.New(lanes.Warning)
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
