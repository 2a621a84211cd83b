package doctor

import (
	"context"

	"outboxrelay/cmd/outbox-relay/gcp"
)

// mayAsk reports whether one of Google's services, or the emulator in its place,
// may be asked at all. Where it may not, a finding of that check has said why.
// The flag is that of the command cloud, which starts such an emulator.
func (e *exam) mayAsk(ctx context.Context, g *Group, check, emulator, flag string) bool {
	if reason := e.unreachable(emulator == ""); reason != "" {
		g.skip(check, "%s", reason)
		return false
	}
	if emulator == "" {
		return true // Google's own is always there
	}
	if err := gcp.Dial(ctx, emulator); err != nil {
		g.add(Finding{
			Check: check, Result: Fail, Did: "dial " + emulator, Detail: gcp.Unanswered + ": " + why(err),
			Mend: []string{e.own("cloud", flag, emulator)}, Hint: gcp.ToAnswer,
		})
		return false
	}
	return true
}

// unreachable is why a service cannot be asked at all; "" when it can. Google's
// own wants credentials.
func (e *exam) unreachable(own bool) string {
	switch {
	case e.Project == "":
		return "there is no project"
	case own && e.account.err != nil:
		return "there are no credentials"
	}
	return ""
}
