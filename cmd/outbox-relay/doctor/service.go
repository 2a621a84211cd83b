package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/relay"
)

// maxPage bounds a page of the service: its metrics are some hundred KiB.
const maxPage = 16 << 20

var serviceChecks = []string{"service.ready", "service.outboxes", "service.targets", "service.version", "service.refuses", "service.role", "service.lanes", "service.queue"}

// service looks at a running one, as whoever holds the token.
func (e *exam) service(ctx context.Context) Group {
	g := Group{Name: "service"}
	if e.Service == nil {
		g.skip("service", "no URL of a running service is given")
		return g
	}
	p, err := newPages(*e.Service)
	if err != nil {
		g.add(Finding{Check: "service", Result: Fail, Detail: why(err), Hint: "give the address of the service with --url"})
		return g
	}
	defer p.close()
	if !e.ready(ctx, &g, p) {
		g.skipAll(serviceChecks[1:], "the service cannot be asked")
		return g
	}
	e.version(ctx, &g, p)
	e.refuses(ctx, &g, p)
	e.admin(ctx, &g, p)
	return g
}

// pages reads a service's pages, and its admin API.
type pages struct {
	base  string
	token adminapi.Token
	api   *adminapi.Client
	http  *http.Client
}

func newPages(c adminapi.Config) (*pages, error) {
	api, err := adminapi.New(c) // which checks the URL
	if err != nil {
		return nil, err
	}
	return &pages{base: strings.TrimRight(c.URL, "/"), token: c.Token, api: api, http: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// A redirect would lead to somebody's login page.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func (p *pages) close() {
	p.api.Close()
	p.http.CloseIdleConnections()
}

// get reads a page; the token goes along where withToken says so.
func (p *pages) get(ctx context.Context, path string, withToken bool) (code int, body []byte, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	if withToken && p.token != nil {
		token, err := p.token.Get(ctx)
		if err != nil {
			return 0, nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return 0, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxPage))
	return resp.StatusCode, body, err
}

// ready reads /ready, whose older name Cloud Run may keep for itself: some paths
// that end in z never get to the container. It reports whether the service answers at all.
func (e *exam) ready(ctx context.Context, g *Group, p *pages) bool {
	const check, did = "service.ready", "GET /ready"
	code, body, err := p.get(ctx, "/ready", true)
	if err != nil {
		g.add(Finding{Check: check, Result: Fail, Did: did, Detail: "the service does not answer: " + why(err), Hint: "is this its address, and is it deployed?"})
		return false
	}
	var h relay.Health
	if err := json.Unmarshal(body, &h); err != nil || len(h.Lanes) == 0 {
		f := Finding{Check: check, Result: Fail, Did: did, Detail: fmt.Sprintf("%d %s, and not the relay's own page", code, http.StatusText(code))}
		switch code {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
			f.Hint = "the platform asks who you are: give a token that it takes, see --token-command"
		default:
			f.Hint = "is this the address of the relay?"
		}
		g.add(f)
		return false
	}
	if !h.Ready {
		g.add(Finding{Check: check, Result: Fail, Did: did, Detail: "the instance that answers can do no work: " + h.Reason, Hint: "look at its log"})
	} else {
		g.ok(check, did, "the instance that answers is ready")
	}
	e.healthOfOutboxes(g, &h)
	e.healthOfTargets(g, &h)
	return true
}

func (e *exam) healthOfOutboxes(g *Group, h *relay.Health) {
	const check, did = "service.outboxes", "GET /ready"
	sick := 0
	for _, o := range h.Outboxes {
		name := o.Outbox
		if o.Shards > 1 {
			name = fmt.Sprintf("%s.%d", o.Outbox, o.Shard)
		}
		var why []string
		if o.Owner == "" && o.Lease != "" {
			why = append(why, "nobody relays it")
		}
		if o.Here && !o.Healthy {
			why = append(why, "its lease is not renewed, or a listener is not proven alive")
		}
		for _, l := range o.Listeners {
			if l.State == "rebuilding" {
				why = append(why, l.Listener+" is being rebuilt ("+l.LastReason+")")
			}
			if l.State == "unproven" {
				why = append(why, l.Listener+" has not been proven alive for more than a minute")
			}
		}
		if len(why) == 0 {
			continue
		}
		sick++
		g.add(Finding{
			Check: check, Result: Warn, Subject: name, Did: did, Detail: strings.Join(why, "; "),
			Hint: "that is so for seconds after a start; look again, then at the instance's log",
		})
	}
	if e.catalog != nil {
		for _, o := range e.catalog.Outboxes {
			if !slices.ContainsFunc(h.Outboxes, func(s relay.OutboxHealth) bool { return s.Outbox == o.Name }) {
				sick++
				g.add(Finding{
					Check: check, Result: Fail, Subject: o.Name, Did: did, Detail: "the service does not relay this outbox: it runs another catalog",
					Hint: "deploy the service with the catalog that was given here",
				})
			}
		}
	}
	if sick == 0 {
		g.ok(check, did, "%d outboxes are relayed", len(h.Outboxes))
	}
}

func (e *exam) healthOfTargets(g *Group, h *relay.Health) {
	const check, did = "service.targets", "GET /ready"
	open := 0
	for _, b := range h.Breakers {
		if b.State == "closed" {
			continue
		}
		open++
		g.add(Finding{
			Check: check, Result: Warn, Subject: b.Target, Did: did, Detail: fmt.Sprintf("its circuit breaker is %s (%s): records for it wait", b.State, b.Reason),
			Hint: "mend the target; the breaker closes by itself",
		})
	}
	if open == 0 {
		g.ok(check, did, "%d targets take the records of the instance that answers", len(h.Breakers))
	}
}

// buildInfo is the metric that tells what an instance was built from.
var buildInfo = regexp.MustCompile(`(?m)^relay_build_info\{commit="([^"]*)",goversion="[^"]*",version="([^"]*)"\}`)

// version compares the service's with the doctor's own: what another version needs
// is not known here.
func (e *exam) version(ctx context.Context, g *Group, p *pages) {
	const check, did = "service.version", "GET /metrics"
	code, body, err := p.get(ctx, "/metrics", true)
	told := buildInfo.FindSubmatch(body)
	if err != nil || code != http.StatusOK || told == nil {
		g.skip(check, "/metrics does not tell it (%d)", code)
		return
	}
	theirs, own := strings.TrimSpace(string(told[2])+" "+string(told[1])), strings.TrimSpace(e.Version+" "+e.Commit)
	if theirs != own {
		g.add(Finding{
			Check: check, Result: Warn, Did: did, Detail: "the service is version " + theirs + ", and this program " + own + ": it may need something else",
			Hint: "look at a deployment with the program that is deployed",
		})
		return
	}
	g.ok(check, did, "version %s, as this program", own)
}
