package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// filterForm is the filter as a page shows it: what is set, each to be taken
// away, and the form that sets more.
type filterForm struct {
	Screen string // that the form leads back to
	Open   bool   // something in the form has to be corrected
	Fault  string // what is wrong with all of it
	Fields []field
	Tiers  []tab
	Chips  []chip
	Clear  string // address without any

	List, Groups string // addresses of the two views with this filter
	OpenOnly     bool   // closed ones are left out
	WithClosed   string // address that takes them in
}

// field is one of the form.
type field struct {
	Name, Label string
	Value       string
	Fault       string
	Hint        string
	Options     []option // of a choice; none: it is typed
	Known       []string // values that are offered while one types
}

type option struct {
	Value, Text string
	Chosen      bool
}

// tab leads to the same list for one tier.
type tab struct {
	Text, At string
	Here     bool
}

// chip is one filter that is set.
type chip struct {
	Label, Value string
	Time         time.Time // the value, where it is one
	Without      string    // address without it
}

// filterLabels are the filters in words.
var filterLabels = map[string]string{
	"tier": "Tier", "state": "State", "open": "Open or closed", "eventType": "Event type", "outbox": "Outbox", "lane": "Lane", "reason": "Why it died",
	"aggregateId": "Aggregate", "traceId": "Trace", "eventId": "Event", "consumer": "Consumer", "from": "Died at or after", "to": "Died before", "group": "Kind of error",
}

const timeHint = "2h, 3d, or a time"

// form shows the filter on the screen at path, with what is wrong with it.
func (s *server) form(f filter, path string, faults map[string]string, together string) filterForm {
	out := filterForm{Screen: path, Fault: together, Open: together != "" || len(faults) > 0, Clear: Prefix + path}
	out.List, out.Groups = f.at("/dlq"), f.at("/groups")
	out.OpenOnly, out.WithClosed = f["open"] == "" && f["state"] == "", f.with("open", openAny).at(path)
	for _, name := range filterNames {
		entered := field{Name: name, Label: filterLabels[name], Value: f[name], Fault: faults[name]}
		s.offer(&entered)
		if name != "group" || f[name] != "" {
			out.Fields = append(out.Fields, entered)
		}
		if f[name] != "" {
			c := chip{Label: filterLabels[name], Value: f[name], Without: f.without(name).at(path)}
			if name == "from" || name == "to" {
				c.Time, _ = time.Parse(time.RFC3339Nano, f[name]) // zero is shown as it was typed
			}
			if name == "open" {
				c = chip{Label: "Shown", Value: openWords[f[name]], Without: c.Without}
			}
			out.Chips = append(out.Chips, c)
		}
	}
	rest := f.without("tier")
	out.Tiers = append(out.Tiers, tab{"All tiers", rest.at(path), f["tier"] == ""})
	for _, t := range []contracts.Tier{contracts.SecurityBlock, contracts.ReviewRequired, contracts.SafeAuto} {
		out.Tiers = append(out.Tiers, tab{string(t), rest.with("tier", string(t)).at(path), f["tier"] == string(t)})
	}
	return out
}

// openWords are the values of open in words.
var openWords = map[string]string{openAny: "open and closed ones", openNone: "closed ones alone", "true": "open ones alone"}

// offer gives a field what there is to choose from.
func (s *server) offer(f *field) {
	choose := func(all string, values []string) {
		f.Options = []option{{"", all, f.Value == ""}}
		if f.Value != "" && !slices.Contains(values, f.Value) {
			values = append([]string{f.Value}, values...)
		}
		for _, v := range values {
			f.Options = append(f.Options, option{v, v, v == f.Value})
		}
	}
	switch f.Name {
	case "tier":
		choose("all", texts(contracts.Tiers()))
	case "state":
		choose("all", []string{
			string(contracts.DeadScheduled), string(contracts.DeadAwaitingReview), string(contracts.DeadBlocked), string(contracts.DeadAuthorized),
			string(contracts.DeadReplayed), string(contracts.DeadDiscarded),
		})
	case "open":
		choose("open ones", []string{openAny, openNone})
		for n, o := range f.Options {
			if words, ok := openWords[o.Value]; ok {
				f.Options[n].Text = words
			}
		}
	case "lane":
		choose("all", texts(contracts.Lanes()))
	case "reason":
		choose("all", texts(contracts.Reasons()))
	case "outbox":
		var names []string
		for _, o := range s.config.Catalog.Outboxes {
			names = append(names, o.Name)
		}
		choose("all", names)
	case "eventType":
		f.Known = s.eventTypes()
	case "consumer":
		f.Known = s.consumers()
	case "from", "to":
		f.Hint = timeHint
	}
}

// eventTypes are those that the catalog names, patterns apart.
func (s *server) eventTypes() []string {
	var out []string
	for _, o := range s.config.Catalog.Outboxes {
		for _, e := range o.Events {
			if !strings.Contains(e.Type, "*") && !slices.Contains(out, e.Type) {
				out = append(out, e.Type)
			}
		}
	}
	slices.Sort(out)
	return out
}

// consumers are those that the catalog names.
func (s *server) consumers() []string {
	var out []string
	for _, o := range s.config.Catalog.Outboxes {
		for _, e := range o.Events {
			out = append(out, e.Consumers...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func texts[S ~string](values []S) []string {
	out := make([]string, len(values))
	for n, v := range values {
		out[n] = string(v)
	}
	return out
}

// narrow leads from a form to the address of what it asks for: the same for all
// who open it, and without what was left empty.
func (s *server) narrow(w http.ResponseWriter, r *http.Request) {
	path := "/dlq"
	if r.URL.Query().Get("screen") == "/groups" {
		path = "/groups"
	}
	http.Redirect(w, r, filterOf(r.URL.Query()).settled(time.Now()).at(path), http.StatusSeeOther)
}
