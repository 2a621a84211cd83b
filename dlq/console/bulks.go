package console

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// addBulks adds bulk replays: their list, one of them, and the start of a new one.
func addBulks(s *server) {
	s.screen("/replays", "bulks.html", loadBulks)
	one := s.screen("/replays/{id}", "bulk.html", loadBulk)
	s.action("/replays/{id}/cancel", one, cancelBulk)
	start := s.screen("/replays/new", "bulknew.html", s.loadNewBulk)
	s.action("/replays/new", start, s.startBulk)
}

// bulksShown is how many bulk replays a page lists.
const bulksShown = 20

// bulksContent is the list.
type bulksContent struct {
	Barred *closedTo // why nothing is shown
	Items  []bulkView
	First  string // address of the first page; "" on it
	Next   string // address of the next page; ""
}

func loadBulks(ctx context.Context, v *visit) (*page, error) {
	p := &page{Title: "Bulk replays", Section: "replays"}
	if why := bulksBarred(v); why != nil {
		p.Content = bulksContent{Barred: why}
		return p, nil
	}
	query := url.Values{"limit": {fmt.Sprint(bulksShown)}}
	content := bulksContent{}
	if token := v.URL.Query().Get("pageToken"); token != "" {
		query.Set("pageToken", token)
		content.First = Prefix + "/replays"
	}
	list, err := get[admin.BulkList](ctx, v.ask, "/replays", query)
	if err != nil {
		return nil, err
	}
	for _, b := range list.Items {
		content.Items = append(content.Items, viewOf(b))
	}
	if list.NextPageToken != "" {
		content.Next = address("/replays", url.Values{"pageToken": {list.NextPageToken}})
	}
	p.Follows, p.Content = []string{topicBulks}, content
	return p, nil
}

// closedTo is why somebody sees nothing of a screen, and what to do about that.
type closedTo struct{ Detail, Hint string }

// bulksBarred says who may look at bulk replays, to those who may not. The API
// would refuse them, and note each time in the audit.
func bulksBarred(v *visit) *closedTo {
	if v.who.May(dlq.Operator) {
		return nil
	}
	return &closedTo{
		Detail: fmt.Sprintf("Bulk replays are for the role %s, and you have %s", dlq.Operator, v.who.Role),
		Hint:   fmt.Sprintf("ask someone with the role %s; single dead letters you can look at yourself", dlq.Operator),
	}
}

// bulkView is a bulk replay as pages show it.
type bulkView struct {
	admin.Bulk
	Path string
	Said []said // what it takes, in words
	Word string // how it stands
	Tone string // good, warn, bad or nothing
}

// said is one narrowing of a selection, in words.
type said struct {
	Label, Value string
	Time         time.Time // the value, where it is one
}

func viewOf(b admin.Bulk) bulkView {
	v := bulkView{Bulk: b, Path: pathTo("replays", b.ID), Said: filterSaid(b), Word: string(b.State)}
	switch b.State {
	case dlq.BulkRunning:
		v.Tone, v.Word = "warn", "running: "+b.Phase
	case dlq.BulkStopped:
		v.Tone = "bad"
	case dlq.BulkDone:
		v.Tone = "good"
		if b.Delivered < b.Total {
			v.Tone, v.Word = "warn", "done, not all delivered"
		}
	case dlq.BulkCancelled:
	default:
		v.Tone = "warn"
	}
	return v
}

func filterSaid(b admin.Bulk) []said {
	var out []said
	f := fromAPI(b.Filter)
	for _, name := range filterNames {
		if value := f[name]; value != "" {
			out = append(out, sayFilter(name, value))
		}
	}
	if b.Picked {
		out = append(out, said{Label: "Picked one by one", Value: plural(b.Total, "dead letter", "dead letters")})
	}
	if len(out) == 0 {
		out = append(out, said{Label: "Everything that was open", Value: plural(b.Total, "dead letter", "dead letters")})
	}
	return out
}

func sayFilter(name, value string) said {
	if words := openWords[value]; name == "open" && words != "" {
		return said{Label: "Shown", Value: words}
	}
	s := said{Label: filterLabels[name], Value: value}
	if name == "from" || name == "to" {
		s.Time, _ = time.Parse(time.RFC3339Nano, value) // zero is shown as it was typed
	}
	return s
}

// fromAPI is a filter of the API's as it stands in an address.
func fromAPI(f admin.Filter) filter {
	out := make(filter)
	data, _ := json.Marshal(f) // texts and times
	var fields map[string]any
	_ = json.Unmarshal(data, &fields) // it was written a line above
	for name, value := range fields {
		out[name] = fmt.Sprint(value)
	}
	return out
}

// Ended counts what the bulk replay is through with.
func (v bulkView) Ended() int { return v.Delivered + v.Failed + v.Skipped }

// Percent is how far it is.
func (v bulkView) Percent() int {
	if v.Total == 0 {
		return 100
	}
	return 100 * v.Ended() / v.Total
}

// FailureRate is the part of its replays that failed, in words.
func (v bulkView) FailureRate() string {
	tried := v.Delivered + v.Failed
	if tried == 0 {
		return "none has ended yet"
	}
	return fmt.Sprintf("%s %% of %d", strings.TrimSuffix(fmt.Sprintf("%.1f", 100*float64(v.Failed)/float64(tried)), ".0"), tried)
}

// Running reports whether it asks for more.
func (v bulkView) Running() bool { return v.State == dlq.BulkRunning }

// roughly tells how long something takes.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return "a moment"
	case d < 2*time.Minute:
		return fmt.Sprintf("about %d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("about %d min", int(math.Round(d.Minutes())))
	}
	return fmt.Sprintf("about %d h", int(math.Round(d.Hours())))
}
