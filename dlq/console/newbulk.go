package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// wanted is what a new bulk replay is to take, as an address or a form says it.
type wanted struct {
	filter filter
	ids    []string
	// seen is when it was looked at first: what dies later is not part of it. So
	// the pages of a look, and its start, are about the same.
	seen time.Time
	pin  string // of the look that led here; ""
	page int    // of the list, from 1
	rate string // as it was typed
}

func wantedOf(v *visit) wanted {
	values := v.URL.Query()
	if v.Method == http.MethodPost {
		values = v.PostForm
	}
	w := wanted{filter: filterOf(values), ids: values["ids"], pin: values.Get("pin"), rate: values.Get("rate")}
	w.ids = slices.DeleteFunc(slices.Clone(w.ids), func(id string) bool { return id == "" })
	w.page, _ = strconv.Atoi(values.Get("page"))
	w.page = max(w.page, 1)
	var err error
	if w.seen, err = time.Parse(time.RFC3339Nano, values.Get("seen")); err != nil {
		w.seen = time.Now().UTC().Truncate(time.Microsecond)
	}
	return w
}

// query is what it takes, as an address has it.
func (w wanted) query() url.Values {
	q := w.filter.query()
	if len(w.ids) > 0 {
		q["ids"] = w.ids
	}
	return q
}

// order is what the API is asked.
func (w wanted) order() (admin.BulkOrder, error) {
	var o admin.BulkOrder
	if w.rate != "" {
		rate, err := strconv.ParseFloat(strings.TrimSpace(w.rate), 64)
		if err != nil || !(rate > 0 && rate <= dlq.MaxBulkRate) {
			return o, &fault{http.StatusUnprocessableEntity, fmt.Sprintf("a rate of %q a second is not above 0 and at most %d", w.rate, dlq.MaxBulkRate), "correct it, or leave it empty"}
		}
		o.RatePerSecond = rate
	}
	if len(w.ids) > 0 {
		if len(w.filter) > 0 {
			return o, &fault{http.StatusUnprocessableEntity, "it names single dead letters and a filter", "leave one of them out"}
		}
		o.IDs = w.ids
		return o, nil
	}
	f, err := w.filter.forAPI()
	if err != nil {
		return o, err
	}
	if f.To.IsZero() || f.To.After(w.seen) {
		f.To = w.seen
	}
	o.Filter = f
	return o, nil
}

// newBulk is the dry run, and the form that starts it.
type newBulk struct {
	Barred  *closedTo
	Choose  bool   // nothing says yet what to take
	Fault   *fault // why there is no dry run
	Said    []said
	Seen    time.Time
	Again   string // address of another look at it
	Changed bool   // it is not any more what the page before showed

	S           *admin.Selection
	Types       []tally
	Targets     []tally
	Tiers       []tally
	Left        []tally // out, by the reason
	Aggregates  int
	Takes       string
	Items       []admin.Selected // of this page
	First, Last int              // their places
	Prev, Next  string           // addresses of the pages beside

	Form    url.Values // hidden fields
	Back    string
	Rate    string
	Typed   string // why, as it was typed: reason is the name of a filter
	Command string
	Brief   string // the command, cut short
}

// tally is how many there are of something.
type tally struct {
	What string
	N    int
}

// rowsShown is how many dead letters of a dry run a page lists. The list is read
// whole each time, since the pin is of the whole; MaxSelection bounds it.
const rowsShown = 100

func (s *server) loadNewBulk(ctx context.Context, v *visit) (*page, error) {
	p := &page{Title: "New bulk replay", Section: "replays"}
	w := wantedOf(v)
	c := &newBulk{Barred: bulksBarred(v), Choose: len(w.filter) == 0 && len(w.ids) == 0, Seen: w.seen, Rate: w.rate, Typed: v.PostFormValue("why")}
	p.Content = c
	if c.Barred != nil || c.Choose {
		return p, nil
	}
	c.Said, c.Again, c.Back = w.said(), address("/replays/new", w.query()), here(v)
	order, err := w.order()
	if err != nil && w.rate != "" { // the list can be shown all the same
		w.rate = ""
		order, err = w.order()
	}
	if err == nil {
		order.DryRun = true
		c.S, err = post[admin.Selection](ctx, v.ask, "/replays", order, nil)
	}
	if err != nil {
		if c.Fault = faultOf(err); c.Fault.Status >= http.StatusInternalServerError {
			return nil, err
		}
		return p, nil
	}
	c.Changed = w.pin != "" && w.pin != c.S.Pin
	c.count()
	c.list(w)
	if c.Rate == "" {
		c.Rate = strconv.FormatFloat(c.S.Plan.RatePerSecond, 'g', -1, 64)
	}
	c.Takes = roughly(time.Duration(c.S.Plan.Seconds) * time.Second)
	c.Form = w.query()
	c.Form.Set("seen", w.seen.Format(time.RFC3339Nano))
	c.Form.Set("pin", c.S.Pin)
	c.Form.Set("key", v.PostFormValue("key"))
	if c.Form.Get("key") == "" {
		c.Form.Set("key", uuid.NewString())
	}
	c.Command, c.Brief = w.command(c.S.Pin)
	return p, nil
}

func (s *server) startBulk(ctx context.Context, v *visit) (string, error) {
	order, err := wantedOf(v).order()
	if err != nil {
		return "", err
	}
	order.Pin, order.RequestID, order.Reason = v.PostFormValue("pin"), v.PostFormValue("key"), v.PostFormValue("why")
	if order.Pin == "" || order.RequestID == "" {
		return "", &fault{http.StatusUnprocessableEntity, "the form does not say which dry run it is of", "look at the list, then start it"}
	}
	b, err := post[admin.Bulk](ctx, v.ask, "/replays", order, nil)
	if err != nil {
		return "", err
	}
	return done(pathTo("replays", b.ID), "start"), nil
}

// count tells what the selection consists of.
func (c *newBulk) count() {
	types, targets, tiers, aggregates := make(map[string]int), make(map[string]int), make(map[string]int), make(map[string]bool)
	for _, i := range c.S.Items {
		types[i.EventType]++
		tiers[string(i.Tier)]++
		aggregates[i.Outbox+"\x00"+i.AggregateID] = true
		for _, t := range i.PendingTargets {
			targets[t]++
		}
	}
	c.Types, c.Targets, c.Tiers, c.Left, c.Aggregates = tallies(types), tallies(targets), tallies(tiers), tallies(c.S.Refused), len(aggregates)
}

// tallies sorts counts, the largest first.
func tallies(counts map[string]int) []tally {
	var out []tally
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, tally{what, counts[what]})
	}
	slices.SortStableFunc(out, func(a, b tally) int { return b.N - a.N })
	return out
}

// list cuts out one page of the selection.
func (c *newBulk) list(w wanted) {
	pages := (len(c.S.Items) + rowsShown - 1) / rowsShown
	n := min(w.page, max(pages, 1))
	c.First = (n-1)*rowsShown + 1
	c.Last = min(n*rowsShown, len(c.S.Items))
	c.Items = c.S.Items[c.First-1 : c.Last]
	at := func(page int) string {
		q := w.query()
		q.Set("seen", w.seen.Format(time.RFC3339Nano))
		q.Set("pin", c.S.Pin)
		q.Set("page", strconv.Itoa(page))
		return address("/replays/new", q)
	}
	if n > 1 {
		c.Prev = at(n - 1)
	}
	if n < pages {
		c.Next = at(n + 1)
	}
}

// Place is where an item of the page stands in the whole list.
func (c *newBulk) Place(n int) int { return c.First + n }

func (w wanted) said() []said {
	var out []said
	for _, name := range filterNames {
		if value := w.filter[name]; value != "" {
			out = append(out, sayFilter(name, value))
		}
	}
	if len(w.ids) > 0 {
		out = append(out, said{Label: "Picked one by one", Value: plural(len(w.ids), "dead letter", "dead letters")})
	}
	return out
}

// command is the command line that starts the same, and how it begins.
func (w wanted) command(pin string) (whole, brief string) {
	words := []string{"outbox-relay", "dlq", "bulk"}
	f := w.filter.without("open") // which has no flag here
	if len(w.ids) == 0 {
		if to, err := time.Parse(time.RFC3339Nano, f["to"]); err != nil || to.After(w.seen) {
			f["to"] = w.seen.Format(time.RFC3339Nano)
		}
	}
	var flags []flag
	for _, name := range filterNames {
		flags = append(flags, flag{filterFlags[name], f[name]})
	}
	short := shellWith(words, flags)
	for _, id := range w.ids {
		flags = append(flags, flag{"--id", id})
	}
	if whole = shellWith(words, flags); whole == "" {
		return "", ""
	}
	end := " " + shell("--pin", pin, "--reason", "...")
	if len(w.ids) > 3 {
		return whole + end, short + fmt.Sprintf(" --id … (%d of these)", len(w.ids)) + end
	}
	return whole + end, whole + end
}

// forAPI is the filter as a body has it.
func (f filter) forAPI() (*admin.Filter, error) {
	out := &admin.Filter{
		EventID: f["eventId"], EventType: f["eventType"], TraceID: f["traceId"], AggregateID: f["aggregateId"], Outbox: f["outbox"], Group: f["group"], Consumer: f["consumer"],
		Tier: contracts.Tier(f["tier"]), State: contracts.DeadState(f["state"]), Lane: contracts.Lane(f["lane"]), Reason: contracts.Reason(f["reason"]),
	}
	switch f["open"] {
	case "", openAny:
	default:
		out.Open = new(f["open"] == "true")
	}
	var err error
	for name, into := range map[string]*time.Time{"from": &out.From, "to": &out.To} {
		if text := f[name]; text != "" {
			t, parseErr := time.Parse(time.RFC3339Nano, text)
			if parseErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %q is no time", filterLabels[name], text))
			}
			*into = t
		}
	}
	if err != nil {
		return nil, &fault{http.StatusUnprocessableEntity, err.Error(), "write it as 2026-03-01T10:00:00Z"}
	}
	return out, nil
}
