package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"outboxrelay/deploy/local/rig"
)

// figures are what came of a run.
type figures struct {
	cloud       string
	took        time.Duration
	events      int
	relayKills  int
	undelivered int // records
	deadLetters int
	standstills int // of Google's Pub/Sub emulator
	redis       bool
	ends        []*endFigures

	messages  int // that came to a consumer
	again     int // the same message once more
	published int // an event in another message once more
}

// endFigures are those of the consumers of one end.
type endFigures struct {
	end        end
	consumers  []string
	kills      int
	wanted     int // effects
	effects    int
	lost       int
	twice      int // events with more than one effect
	extra      int // effects beyond the first of each event
	most       int // effects of one event
	disordered int // first effects after that of a later event of the aggregate, of consumers with message ordering
	overtakes  int // as overtakes counts
	unwanted   int // effects for a consumer that the event does not name
}

// bound is how many effects beyond the first there may be, and how many of one event.
func (f *endFigures) bound() (extra, most int) {
	if f.end.exact() {
		return 0, 1
	}
	return f.kills * underWay, 1 + f.kills
}

func (f *figures) of(e end) *endFigures {
	at := slices.IndexFunc(f.ends, func(of *endFigures) bool { return of.end == e })
	if at < 0 {
		f.ends = append(f.ends, &endFigures{end: e})
		at = len(f.ends) - 1
	}
	return f.ends[at]
}

// order has the exact ends first.
func order(e end) string {
	if e.exact() {
		return "0" + string(e)
	}
	return "1" + string(e)
}

// judge counts what was noted against what was wanted. dealt tells the end of each consumer, and ordered whether its
// subscriptions have message ordering.
func judge(wanted map[happening]bool, dealt map[string]end, ordered map[string]bool, n notes) *figures {
	f := &figures{}
	for consumer, e := range dealt {
		f.of(e).consumers = append(f.of(e).consumers, consumer)
	}
	slices.SortFunc(f.ends, func(a, b *endFigures) int { return strings.Compare(order(a.end), order(b.end)) })
	times := map[happening]int{}
	last := map[happening]int64{} // the latest version of a consumer's aggregate
	slices.SortFunc(n.effects, func(a, b effect) int { return cmp.Compare(a.At, b.At) })
	for consumer, times := range overtakes(n) {
		f.of(dealt[consumer]).overtakes += times
	}
	for _, e := range n.effects {
		of, did, about := f.of(dealt[e.Consumer]), happening{e.Consumer, e.EventID}, happening{e.Consumer, e.Aggregate}
		of.effects++
		times[did]++
		switch {
		case !wanted[did]:
			of.unwanted++
		case times[did] > 1:
		case e.Version < last[about] && ordered[e.Consumer]:
			of.disordered++
		default:
			last[about] = max(last[about], e.Version)
		}
	}
	for want := range wanted {
		of, n := f.of(dealt[want.consumer]), times[want]
		of.wanted++
		of.most = max(of.most, n)
		switch {
		case n == 0:
			of.lost++
		case n > 1:
			of.twice++
			of.extra += n - 1
		}
	}
	f.messages = len(n.arrivals)
	messages, events := map[string]bool{}, map[string]bool{}
	for _, a := range n.arrivals {
		message, event := a.Consumer+" "+a.Topic+" "+a.MessageID, a.Consumer+" "+a.Topic+" "+a.EventID
		switch {
		case messages[message]:
			f.again++
		case events[event]:
			f.published++
		}
		messages[message], events[event] = true, true
	}
	return f
}

// broken names the promises that were not kept.
func (f *figures) broken() (out []string) {
	told := func(n int, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	told(f.undelivered, "%d records are not delivered", f.undelivered)
	told(f.deadLetters, "%d dead letters, though every handler succeeds", f.deadLetters)
	for _, e := range f.ends {
		extra, most := e.bound()
		told(e.lost, "%s: %d effects are lost", e.end, e.lost)
		told(e.extra-extra, "%s: %d effects happened again, where %d may", e.end, e.extra, extra)
		told(e.most-most, "%s: an event has %d effects, where it may have %d", e.end, e.most, most)
		if f.cloud != rig.CloudGoogle { // whose Pub/Sub hands on what comes behind a message that a killed process held
			told(e.disordered, "%s: %d effects came after that of a later event of their aggregate", e.end, e.disordered)
		}
		told(e.overtakes, "%s: %d events were handled while one before it in their aggregate was", e.end, e.overtakes)
		told(e.unwanted, "%s: %d effects of events that do not name the consumer", e.end, e.unwanted)
	}
	return out
}

// print writes the report.
func (f *figures) print(w io.Writer) error {
	var b strings.Builder
	kills := 0
	for _, e := range f.ends {
		kills += e.kills
	}
	fmt.Fprintf(&b, "\n%d events on the %s cloud in %v; %d relays and %d consumers killed\n", f.events, f.cloud, f.took.Round(time.Second), f.relayKills, kills)
	fmt.Fprintf(&b, "%d messages came to consumers: %d the same again, %d an event that was published again\n", f.messages, f.again, f.published)
	fmt.Fprintf(&b, "%d records undelivered, %d dead letters\n\n", f.undelivered, f.deadLetters)
	if f.standstills > 0 {
		fmt.Fprintf(&b, "Google's Pub/Sub emulator stood still %d times, and had to begin anew with what it held\n\n", f.standstills)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "end\tconsumers\tkilled\twanted\teffects\tlost\ttwice or more\tbeyond the first\tmay be\tmost of one\tmay be\tdisordered\tovertook")
	for _, e := range f.ends {
		extra, most := e.bound()
		slices.Sort(e.consumers)
		name := string(e.end)
		if e.end == endApart {
			name += map[bool]string{true: " (Redis)", false: " (Firestore)"}[f.redis]
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", name, strings.Join(e.consumers, " "), e.kills, e.wanted, e.effects,
			e.lost, e.twice, e.extra, extra, e.most, most, e.disordered, e.overtakes)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(&b)
	for _, broken := range f.broken() {
		fmt.Fprintln(&b, "BROKEN:", broken)
	}
	if len(f.broken()) == 0 {
		fmt.Fprintln(&b, "every promise was kept")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
