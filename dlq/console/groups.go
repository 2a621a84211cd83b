package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// groupsPage is one page of the kinds of dead letters that a filter selects.
type groupsPage struct {
	Form    filterForm
	Groups  []kind
	Total   int64 // dead letters of the groups on the page
	First   string
	Later   bool
	Next    string
	Command string
	Narrow  bool
	Lost    *fault
}

// kind is an event type and an error.
type kind struct {
	admin.Group
	At     string // address of its dead letters
	Replay offer
}

// counted together: each costs a count and the first and the last.
const grouped = 20

// addGroups adds groups.
func addGroups(s *server) {
	s.screen("/groups", "groups.html", s.loadGroups)
}

func (s *server) loadGroups(ctx context.Context, v *visit) (*page, error) {
	f, token := filterOf(v.URL.Query()), v.URL.Query().Get("pageToken")
	content := &groupsPage{First: f.at("/groups"), Later: token != "", Narrow: len(f) > 0, Command: f.command("groups")}
	p := &page{Title: "Dead letters by error", Section: "dlq", Follows: []string{topicDLQ}, Content: content}
	query := f.asked()
	query.Set("limit", strconv.Itoa(grouped))
	if token != "" {
		query.Set("pageToken", token)
	}
	list, err := get[admin.GroupList](ctx, v.ask, apiPath("dlq", "groups"), query)
	problem, refused := errors.AsType[*admin.Problem](err)
	switch {
	case err == nil:
	case !refused || problem.Status != http.StatusUnprocessableEntity:
		return nil, err
	default:
		faults, together := refusedFilter(problem)
		if token != "" && len(faults) == 0 {
			together, content.Lost = "", faultOf(problem)
		}
		content.Form, p.Follows = s.form(f, "/groups", faults, together), nil
		return p, nil
	}
	content.Form = s.form(f, "/groups", nil, "")
	for _, g := range list.Items {
		of := f.with("group", g.ID)
		one := kind{g, of.at("/dlq"), v.bulkOf(of)}
		if one.Replay.Why == "" && s.blocked(g.EventType) {
			one.Replay = v.bulkOf(filter{"tier": string(contracts.SecurityBlock)})
		}
		content.Groups = append(content.Groups, one)
		content.Total += g.Count
	}
	if list.NextPageToken != "" {
		q := f.query()
		q.Set("pageToken", list.NextPageToken)
		content.Next = address("/groups", q)
	}
	return p, nil
}

// blocked reports whether all events of a type are SECURITY_BLOCK, in every
// outbox that has them.
func (s *server) blocked(eventType string) bool {
	found := false
	for _, o := range s.config.Catalog.Outboxes {
		if !slices.ContainsFunc(o.Events, func(e *contracts.EventRoute) bool { return e.Type == eventType }) {
			continue
		}
		if o.Route(eventType).Tier != contracts.SecurityBlock {
			return false
		}
		found = true
	}
	return found
}
