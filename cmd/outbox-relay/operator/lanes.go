package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/dlq"
)

// Lanes groups what can be done about lanes over the admin API.
type Lanes struct {
	List   lanesListCmd   `cmd:"" help:"List the lanes: whether they are paused, and how they do on the instance that answers."`
	Pause  lanesPauseCmd  `cmd:"" help:"Pause a lane, on all instances: its records wait in Firestore."`
	Resume lanesResumeCmd `cmd:"" help:"Resume a lane, on all instances."`
}

type lanesListCmd struct {
	apiFlags
}

// Run lists the lanes.
func (c *lanesListCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		var lanes adminapi.Lanes
		answer, err := d.Get(ctx, "/lanes", nil, &lanes)
		if err != nil {
			return err
		}
		if d.json {
			return shell.PrintJSON(d.Stdout, answer)
		}
		if lanes.Warning != "" {
			fmt.Fprintln(d.Stderr, terminal.Line(lanes.Warning))
		}
		t := shell.NewTable(d.Stdout, "LANE", "SLA", "P50", "P99", "WAITING", "DELIVERED", "STATE")
		for _, l := range lanes.Items {
			t.Row(string(l.Lane), millis(l.SLAMillis), millis(l.P50Millis), millis(l.P99Millis), fmt.Sprint(l.Queued+l.InFlight+l.Waiting), fmt.Sprint(l.Delivered), laneState(l))
		}
		return t.Flush()
	})
}

func millis(n int64) string {
	if n == 0 {
		return "-"
	}
	return (time.Duration(n) * time.Millisecond).String()
}

func laneState(l adminapi.Lane) string {
	state := "runs"
	if l.Paused {
		state = "paused by " + cmp.Or(l.PausedBy, "somebody") + behind(l.PauseReason)
	}
	for _, u := range l.Unsettled {
		state += fmt.Sprintf("; %d of %s not settled, Firestore has taken no commit since %s", u.Records, u.Outbox, u.Since.UTC().Format(time.RFC3339))
	}
	return state
}

// behind puts a reason behind whoever gave it; nothing where none was given.
func behind(reason string) string {
	if reason == "" || reason == dlq.NoReason {
		return ""
	}
	return ": " + reason
}

// laneFlags name a lane, and why something is done to it.
type laneFlags struct {
	Lane   lane   `arg:"" help:"CRITICAL_LANE, STANDARD_LANE or BACKGROUND_LANE."`
	Reason string `short:"r" placeholder:"TEXT" help:"Why; it is recorded with the decision."`
	apiFlags
}

// set pauses or resumes the lane.
func (f *laneFlags) set(ctx context.Context, p shell.Process, verb string) error {
	return f.ask(p, func(d *desk) error {
		var control adminapi.LaneControl
		answer, err := d.Post(ctx, adminapi.Path("lanes", string(f.Lane), verb), adminapi.Why{Reason: f.Reason}, &control)
		if err != nil {
			return err
		}
		if d.json {
			return shell.PrintJSON(d.Stdout, answer)
		}
		state := "runs"
		if control.Paused {
			state = "is paused"
		}
		fmt.Fprintf(d.Stdout, "%s %s on all instances, says %s%s\n", terminal.Line(string(f.Lane)), state, terminal.Line(cmp.Or(control.By, "nobody yet")), terminal.Line(behind(control.Reason)))
		return nil
	})
}

type lanesPauseCmd struct{ laneFlags }

// Run pauses.
func (c *lanesPauseCmd) Run(ctx context.Context, p shell.Process) error {
	return c.set(ctx, p, "pause")
}

type lanesResumeCmd struct{ laneFlags }

// Run resumes.
func (c *lanesResumeCmd) Run(ctx context.Context, p shell.Process) error {
	return c.set(ctx, p, "resume")
}
