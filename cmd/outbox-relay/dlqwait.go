package main

import (
	"context"
	"fmt"
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

// tellWait says on stderr what a replay may be waiting for. lane is "" and targets
// are none where there may be several.
func (d *desk) tellWait(ctx context.Context, lane contracts.Lane, targets []string) {
	var lanes adminapi.List[adminapi.Lane]
	if _, err := d.Get(ctx, "/lanes", nil, &lanes); err == nil { // who cannot see the lanes is told the rest
		paused := false
		for _, l := range lanes.Items {
			if l.Paused && (lane == "" || l.Lane == lane) {
				paused = true
				fmt.Fprintf(d.stderr, "still waiting: %s is paused by %s: %s\n", terminal.Line(string(l.Lane)), orElse(terminal.Line(l.PausedBy), "somebody"), orElse(terminal.Line(l.PauseReason), "none given"))
			}
		}
		if paused {
			return
		}
	}
	out := "a target"
	if len(targets) > 0 {
		out = terminal.Line(joined(targets))
	}
	fmt.Fprintf(d.stderr, "still waiting: %s may be out, which /readyz of the service tells; its replays go on by themselves when it is back\n", out)
}
