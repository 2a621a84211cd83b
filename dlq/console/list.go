package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// listPage is one page of the dead letters that a filter selects.
type listPage struct {
	Form    filterForm
	Total   string // how many the filter selects, in words; "" where that is not told
	Rows    []row
	Arrived string // how many came since the page was loaded, in words; "" for none
	Fresh   string // address of the first page as it is now
	Later   bool   // it is not the first page
	Next    string // address of the next page; "" at the end
	All     offer  // replay all that the filter selects
	Some    offer  // replay those that are ticked
	Command string
	Narrow  bool   // a filter is set
	Lost    *fault // the page that the address asks for is none of this list
}

// AllLabel is what All does.
func (l *listPage) AllLabel() string {
	if l.Narrow {
		return "Replay all that this filter selects"
	}
	return "Replay all that are open"
}

// offer leads to another screen, or says why not.
type offer struct{ At, Why string }

// listed is how many dead letters a page shows.
const listed = 50

// addList adds dead letters.
func addList(s *server) {
	s.mux.HandleFunc("GET "+Prefix+"/filter", s.narrow)
	s.screen("/dlq", "list.html", s.loadList)
}

func (s *server) loadList(ctx context.Context, v *visit) (*page, error) {
	f, token, still := filterOf(v.URL.Query()), v.URL.Query().Get("pageToken"), stillOf(v.URL.Query())
	content := &listPage{
		Fresh: f.at("/dlq"), Later: token != "", Narrow: len(f) > 0, Command: f.command("list"),
		All: v.bulkOf(f), Some: v.bulkOf(filter{}),
	}
	p := &page{Title: "Dead letters", Section: "dlq", Follows: []string{topicDLQ}, Content: content}
	var err error
	if still == nil {
		still, err = v.firstSight(ctx, f, token, content)
	} else {
		err = v.sameAgain(ctx, f, still, content)
	}
	if err == nil {
		content.Form = s.form(f, "/dlq", nil, "")
		if still != nil {
			p.Again = still.address(f, token)
			content.Next = still.nextPage(f)
		}
		return p, nil
	}
	problem, ok := errors.AsType[*admin.Problem](err)
	if !ok || problem.Status != http.StatusUnprocessableEntity {
		return nil, err
	}
	if faults, together := refusedFilter(problem); token == "" || len(faults) > 0 {
		content.Form = s.form(f, "/dlq", faults, together)
	} else {
		content.Form, content.Lost = s.form(f, "/dlq", nil, ""), faultOf(problem)
	}
	p.Follows = nil
	return p, nil
}

// firstSight reads a page. It returns what makes that page stand still; nil for
// an empty one, which the first arrival may fill.
func (v *visit) firstSight(ctx context.Context, f filter, token string, content *listPage) (*still, error) {
	query := f.asked()
	query.Set("limit", strconv.Itoa(listed))
	if token != "" {
		query.Set("pageToken", token)
	}
	list, err := get[admin.DeadLetterList](ctx, v.ask, apiPath("dlq"), query)
	if err != nil {
		return nil, err
	}
	content.Rows = rowsOf(list.Items, v)
	if len(list.Items) == 0 {
		return nil, nil
	}
	st := &still{Next: list.NextPageToken}
	for _, i := range list.Items {
		st.IDs = append(st.IDs, i.ID)
	}
	if token == "" {
		st.First = list.Items[0].DeadAt
		if content.Total, err = v.total(ctx, f, len(list.Items), list.NextPageToken == ""); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// total counts what the filter selects, where the page does not show all of it.
func (v *visit) total(ctx context.Context, f filter, shown int, all bool) (string, error) {
	if all {
		return plural(shown, "dead letter", "dead letters"), nil
	}
	c, err := get[admin.DeadLetterCount](ctx, v.ask, apiPath("dlq", "count"), f.asked())
	if err != nil {
		return "", err
	}
	return counted(c, "dead letter", "dead letters"), nil
}

func counted(c *admin.DeadLetterCount, one, many string) string {
	if c.AtLeast {
		return fmt.Sprintf("%d %s or more", c.Count, many)
	}
	return plural(c.Count, one, many)
}

// sameAgain reads the dead letters of a page again, as they are now, and counts
// what came since.
func (v *visit) sameAgain(ctx context.Context, f filter, st *still, content *listPage) error {
	named, err := get[admin.NamedDeadLetters](ctx, v.ask, apiPath("dlq", "named"), url.Values{"ids": {st.named()}})
	if err != nil {
		return err
	}
	content.Rows = rowsOf(named.Items, v)
	if st.First.IsZero() {
		return nil
	}
	if content.Total, err = v.total(ctx, f, len(st.IDs), st.Next == ""); err != nil {
		return err
	}
	since := f.asked()
	from := st.First.Add(time.Microsecond)
	if to, err := time.Parse(time.RFC3339Nano, f["to"]); err == nil && !from.Before(to) {
		return nil // nothing can come any more
	}
	since.Set("from", from.Format(time.RFC3339Nano))
	c, err := get[admin.DeadLetterCount](ctx, v.ask, apiPath("dlq", "count"), since)
	if err != nil {
		return err
	}
	if c.Count > 0 {
		content.Arrived = counted(c, "dead letter", "dead letters")
	}
	return nil
}

// bulkOf leads to a bulk replay of what a filter selects.
func (v *visit) bulkOf(f filter) offer {
	switch {
	case !v.who.May(dlq.Operator):
		return offer{Why: "it needs the role operator, and you have " + v.who.Role.String()}
	case f.closed():
		return offer{Why: "closed dead letters cannot be replayed"}
	case f["tier"] == string(contracts.SecurityBlock):
		return offer{Why: "dead letters of SECURITY_BLOCK are decided one by one"}
	}
	return offer{At: f.without("open").at("/replays/new")}
}
