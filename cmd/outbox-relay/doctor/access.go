package doctor

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin/auth"
)

// access looks at who may use the admin API.
func (e *exam) access() Group {
	g := Group{Name: "access"}
	mode := e.Access.Mode
	if mode == auth.ModeOff {
		g.add(Finding{
			Check: "access.mode", Result: Warn, Detail: "AUTH_MODE is not set: nobody can look at dead letters or decide about them",
			Hint: "set AUTH_MODE to iap or oidc, with AUTH_AUDIENCE and ROLES_FILE",
		})
		g.skipAll([]string{"access.audience", "access.roles"}, "AUTH_MODE is not set")
		return g
	}
	if err := e.Access.Validate(); err != nil {
		g.add(Finding{Check: "access.mode", Result: Fail, Detail: why(err), Hint: "serve does not start like this: mend AUTH_MODE, AUTH_AUDIENCE, ROLES_FILE or HOST"})
	} else {
		g.ok("access.mode", "", "AUTH_MODE is %s", mode)
	}
	if mode == auth.ModeDev {
		g.skipAll([]string{"access.audience", "access.roles"}, "AUTH_MODE dev has tokens that everybody knows, on loopback alone")
		return g
	}
	for _, a := range e.Access.Audience {
		g.add(e.audience(mode, a))
	}
	if e.Access.RolesFile != "" {
		e.roles(&g)
	}
	return g
}

// iapAudience is what Identity-Aware Proxy writes into its tokens: for Cloud Run,
// for a backend service behind a load balancer, and for App Engine.
var iapAudience = regexp.MustCompile(`^/projects/[0-9]+/(locations/[a-z0-9-]+/services/[a-z0-9-]+|global/backendServices/[0-9]+|[a-z0-9-]+/backendServices/[0-9]+|apps/[a-z0-9:.-]+)$`)

// audience looks whether tokens can have been made for a.
func (e *exam) audience(mode auth.Mode, a string) Finding {
	f := Finding{Check: "access.audience", Subject: a, Result: OK}
	switch mode {
	case auth.ModeIAP:
		if iapAudience.MatchString(a) {
			f.Detail = "has the form of Identity-Aware Proxy's audiences"
			break
		}
		f.Result, f.Detail = Fail, "is no audience of Identity-Aware Proxy: every token would be refused"
		f.Hint = "want /projects/NUMBER/locations/REGION/services/SERVICE for Cloud Run, or /projects/NUMBER/global/backendServices/ID behind a load balancer"
		f.Mend = []string{"gcloud projects describe " + shell.Quote(e.Project) + " '--format=value(projectNumber)'"}
	default:
		u, err := url.Parse(a)
		switch {
		case strings.HasSuffix(a, ".apps.googleusercontent.com"):
			f.Detail = "is a client ID"
		case err == nil && u.Scheme == "https" && u.Host != "" && strings.HasSuffix(a, "/"):
			f.Result, f.Detail = Warn, "ends in a slash, and audiences are compared letter by letter"
			f.Hint = "callers have to ask for the same: --audiences=" + a
		case err == nil && u.Scheme == "https" && u.Host != "":
			f.Detail = "is the URL of a service"
		default:
			f.Result, f.Detail = Warn, "is neither a service's URL nor a client ID: only callers who ask for just this get a token for it"
			f.Hint = "the usual audience is the service's https URL, without a slash at its end"
		}
		if e.Service != nil && f.Result == OK && u != nil && u.Host != "" && !slices.Contains(e.Access.Audience, strings.TrimRight(e.Service.URL, "/")) {
			f.Detail += "; it is another one than " + e.Service.URL
		}
	}
	return f
}

// roles reads the roles file as the service does.
func (e *exam) roles(g *Group) {
	const check = "access.roles"
	did := "read " + e.Access.RolesFile
	roles, err := auth.ReadRoles(e.Access.RolesFile)
	if err != nil {
		g.add(Finding{
			Check: check, Result: Fail, Did: did, Detail: why(err),
			Hint: "serve does not start with this file; the form is roles: {viewer: [...], operator: [...], security: [...]}",
		})
		return
	}
	count := map[dlq.Role]int{}
	for _, r := range roles {
		count[r]++
	}
	g.ok(check, did, "%d security, %d operator, %d viewer", count[dlq.Security], count[dlq.Operator], count[dlq.Viewer])
	switch deciders := count[dlq.Security] + count[dlq.Operator]; {
	case count[dlq.Security] == 0:
		g.add(Finding{
			Check: check, Result: Fail, Did: did, Detail: "nobody has the role security: what is blocked can never be authorized, nor a frozen aggregate released",
			Hint: "add an address under security",
		})
	case deciders < 2 && len(e.twoPersons()) > 0:
		g.add(Finding{
			Check: check, Result: Fail, Did: did,
			Detail: "the catalog asks for two persons (twoPersonRule) for " + strings.Join(e.twoPersons(), ", ") + ", and one alone can decide: such a dead letter can be authorized and never replayed",
			Hint:   "add a second address under security or operator",
		})
	case count[dlq.Security] == 1:
		g.add(Finding{
			Check: check, Result: Warn, Did: did, Detail: "one address alone has the role security: what is blocked waits while that person is away",
			Hint: "add a second one",
		})
	}
	if info, err := os.Stat(e.Access.RolesFile); err == nil && info.Mode().Perm()&0o002 != 0 {
		g.add(Finding{
			Check: check, Result: Warn, Did: did, Detail: "everybody on this machine may write the file, and so give a role to anybody",
			Mend: []string{command("chmod", "o-w", e.Access.RolesFile)},
		})
	}
}

// twoPersons lists the event types whose dead letters need two persons.
func (e *exam) twoPersons() []string {
	if e.catalog == nil {
		return nil
	}
	var out []string
	for _, o := range e.catalog.Outboxes {
		for _, event := range o.Events {
			if event.TwoPersonRule && event.Tier == contracts.SecurityBlock && !slices.Contains(out, event.Type) {
				out = append(out, event.Type)
			}
		}
	}
	return out
}
