package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/contracts"
	"outboxrelay/dlq/admin/auth"
)

// refuses looks that the admin API answers nobody without a token.
func (e *exam) refuses(ctx context.Context, g *Group, p *pages) {
	const check, did = "service.refuses", "GET /admin/v1/lanes without a token"
	code, _, err := p.get(ctx, "/admin/v1/lanes", false)
	switch {
	case err != nil:
		g.skip(check, "no answer: %s", why(err))
	case code == http.StatusOK:
		g.add(Finding{
			Check: check, Result: Fail, Did: did, Detail: "the admin API answers somebody without a token: anybody can look at dead letters and decide about them",
			Hint: "something in between adds a credential, or this is no relay: nobody but its users may reach it until that is mended",
		})
	default:
		g.ok(check, did, "refused with %d %s", code, http.StatusText(code))
	}
}

// admin asks the admin API as whoever holds the token.
func (e *exam) admin(ctx context.Context, g *Group, p *pages) {
	const check, did = "service.role", "GET /admin/v1/lanes with the token"
	rest := []string{"service.lanes", "service.queue"}
	if p.token == nil && e.Access.Mode != auth.ModeIAP {
		g.skipAll(append([]string{check}, rest...), "no token is given")
		return
	}
	var lanes adminapi.Lanes
	if err := askAPI(ctx, p, "/lanes", &lanes); err != nil {
		f := Finding{Check: check, Result: Fail, Did: did, Detail: why(err), Hint: "look at the token, or at what makes it"}
		if problem, ok := errors.AsType[*adminapi.Problem](err); ok {
			f.Detail = problem.Detail
			if problem.Hint != "" {
				f.Hint = problem.Hint
			}
			if f.Detail == "" {
				f.Detail = fmt.Sprintf("%d %s", problem.Status, problem.Title)
			}
		}
		g.add(f)
		g.skipAll(rest, "the admin API does not answer this token")
		return
	}
	g.ok(check, did, "whoever holds the token may at least look (viewer)")
	e.paused(g, lanes)
	e.queue(ctx, g, p)
}

func askAPI(ctx context.Context, p *pages, path string, into any) error {
	ctx, cancel := within(ctx)
	defer cancel()
	_, err := p.api.Get(ctx, path, nil, into)
	return err
}

// paused tells which lanes are. That none is takes a service that knows.
func (e *exam) paused(g *Group, lanes adminapi.Lanes) {
	const check, did = "service.lanes", "GET /admin/v1/lanes"
	paused := 0
	for _, l := range lanes.Items {
		if !l.Paused {
			continue
		}
		paused++
		g.add(Finding{
			Check: check, Result: Warn, Subject: string(l.Lane), Did: did, Detail: fmt.Sprintf("the lane is paused by %s: %s", l.PausedBy, l.PauseReason),
			Mend: []string{e.serviceCommand("lanes", "resume", string(l.Lane), "--reason", "it is to go on")},
		})
	}
	switch {
	case paused > 0:
	case lanes.Warning != "":
		g.skip(check, "%s", lanes.Warning)
	default:
		g.ok(check, did, "no lane is paused")
	}
}

// queue tells what waits for a person.
func (e *exam) queue(ctx context.Context, g *Group, p *pages) {
	const check, did = "service.queue", "GET /admin/v1/dlq/summary"
	var summary struct {
		Tiers []struct {
			Tier   contracts.Tier `json:"tier"`
			Open   int64          `json:"open"`
			Oldest time.Time      `json:"oldest"`
		} `json:"tiers"`
	}
	if err := askAPI(ctx, p, "/dlq/summary", &summary); err != nil {
		g.skip(check, "%s", why(err))
		return
	}
	waiting := 0
	for _, t := range summary.Tiers {
		if t.Open == 0 || t.Tier == contracts.SafeAuto {
			continue
		}
		waiting++
		g.add(Finding{
			Check: check, Result: Warn, Subject: string(t.Tier), Did: did, Detail: fmt.Sprintf("%d dead letters wait for a person, the oldest since %s", t.Open, t.Oldest.UTC().Format(time.RFC3339)),
			Mend: []string{e.serviceCommand("dlq", "list", "--tier", string(t.Tier))},
		})
	}
	if waiting == 0 {
		g.ok(check, did, "no dead letter waits for a person")
	}
}
