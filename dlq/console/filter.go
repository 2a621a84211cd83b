package console

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// Values of the filter open, in an address. Without it, and without a state, the
// open ones are shown.
const (
	openAny  = "any"
	openNone = "false"
)

// filterNames are the filters of dead letters that stand in an address, in the
// order in which they are shown.
var filterNames = []string{
	"tier", "state", "open", "eventType", "outbox", "lane", "reason", "aggregateId", "traceId", "eventId", "consumer", "from", "to", "group",
}

// filter is what an address says of which dead letters are looked at, by name.
// It may be wrong: the API judges it.
type filter map[string]string

func filterOf(query url.Values) filter {
	f := make(filter)
	for _, name := range filterNames {
		if value := query.Get(name); value != "" {
			f[name] = value
		}
	}
	return f
}

// without leaves some out.
func (f filter) without(names ...string) filter {
	out := make(filter)
	for name, value := range f {
		if !slices.Contains(names, name) {
			out[name] = value
		}
	}
	return out
}

// with sets one; nothing else is changed.
func (f filter) with(name, value string) filter {
	out := f.without()
	out[name] = value
	return out
}

// query is the filter as it stands in an address.
func (f filter) query() url.Values {
	q := make(url.Values)
	for name, value := range f {
		q.Set(name, value)
	}
	return q
}

// at is the address of a screen with this filter.
func (f filter) at(path string) string { return address(path, f.query()) }

// address is that of a screen below Prefix, with a query.
func address(path string, query url.Values) string {
	if len(query) == 0 {
		return Prefix + path
	}
	return Prefix + path + "?" + query.Encode()
}

// asked is the filter as the API takes it.
func (f filter) asked() url.Values {
	q := f.query()
	switch {
	case f["open"] == openAny:
		q.Del("open")
	case f["open"] == "" && f["state"] == "":
		q.Set("open", "true")
	}
	return q
}

// closed reports whether the filter shows closed dead letters alone.
func (f filter) closed() bool {
	return f["open"] == openNone || f["state"] == string(contracts.DeadReplayed) || f["state"] == string(contracts.DeadDiscarded)
}

// command is the command line that lists the same; "" where there is none, or
// none that could be pasted.
func (f filter) command(verb string) string {
	if f["open"] == openNone {
		return ""
	}
	words := []string{"outbox-relay", "dlq", verb}
	for _, name := range filterNames {
		flag, ok := filterFlags[name]
		switch {
		case name == "open" && f[name] == openAny:
			words = append(words, "--any")
		case ok && f[name] != "" && !pastable(f[name]):
			return ""
		case ok && f[name] != "":
			words = append(words, flag+"="+f[name])
		}
	}
	return shell(words...)
}

var filterFlags = map[string]string{
	"tier": "--tier", "state": "--state", "eventType": "--event-type", "outbox": "--outbox", "lane": "--lane", "reason": "--dead-reason",
	"aggregateId": "--aggregate", "traceId": "--trace-id", "eventId": "--event-id", "from": "--from", "to": "--to", "group": "--group",
	"consumer": "--consumer",
}

// settled makes times that were typed the same for everybody who is given the
// address: 2h is two hours back from now, and one without a zone is UTC.
func (f filter) settled(now time.Time) filter {
	out := f.without()
	for _, name := range []string{"from", "to"} {
		if t, ok := timeTyped(f[name], now); ok {
			out[name] = t.UTC().Format(time.RFC3339)
		}
	}
	return out
}

func timeTyped(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if d, err := time.ParseDuration(days + "h"); err == nil && d.Abs() <= math.MaxInt64/24 { // it holds 292 years
			return now.Add(-24 * d), true
		}
	}
	if back, err := time.ParseDuration(text); err == nil {
		return now.Add(-back), true
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// refusedFilter is what the API says is wrong with a filter: by the name of each,
// and of all together.
func refusedFilter(p *admin.Problem) (byName map[string]string, together string) {
	byName = make(map[string]string)
	for _, f := range p.Errors {
		if name := strings.TrimPrefix(f.Location, "query."); slices.Contains(filterNames, name) {
			byName[name] = f.Message
		}
	}
	if len(byName) == 0 {
		together = p.Detail
	}
	return byName, together
}
