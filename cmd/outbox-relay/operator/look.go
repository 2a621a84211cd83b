package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
)

// lostSight is that the service did not answer for longer than a deployment takes.
// What was looked at goes on.
type lostSight struct{ err error }

func (e *lostSight) Error() string { return e.err.Error() }
func (e *lostSight) Unwrap() error { return e.err }

// look reads what stands at path, of something that is known to be under way. It tries
// again while nobody answers, as during a deployment, and says so once; when that
// lasts for longer than outage it fails with lostSight.
func (d *desk) look(ctx context.Context, path string, into any, outage time.Duration) (json.RawMessage, error) {
	for began, told := time.Now(), false; ; {
		answer, err := d.Get(ctx, path, nil, into)
		if err == nil || !adminapi.Passing(err) || ctx.Err() != nil {
			return answer, err
		}
		if time.Since(began) >= outage {
			return nil, &lostSight{err}
		}
		if !told {
			told = true
			fmt.Fprintf(d.Stderr, "the service does not answer; it is asked again for %v: %s\n", outage, terminal.Line(err.Error()))
		}
		if !shell.Pause(ctx, d.again) {
			return nil, context.Cause(ctx)
		}
	}
}

// goesOn ends a command whose subject is under way still. It holds no answer of the API,
// which would have an exit code of its own.
func goesOn(format string, args ...any) error {
	return shell.Exit(shell.ExitGoesOn, fmt.Errorf(format, args...))
}
