package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"outboxrelay/contracts"
)

// printReport prints what was done, what it came to, and how to do it again.
func printReport(w io.Writer, s *stage, e *evidence, j *judgement, took time.Duration) {
	fmt.Fprintf(w, "\n%s\n\n", census(s, e, took))
	printFaults(w, e, j)
	fmt.Fprintln(w)
	printGuarantees(w, j)
	printViolations(w, j)
	fmt.Fprintf(w, "\nseed %d\nagain: %s\n", s.opts.seed, s.opts.command())
}

// census says how much happened.
func census(s *stage, e *evidence, took time.Duration) string {
	fates, statuses, states := map[fate]int{}, map[contracts.Status]int{}, map[contracts.DeadState]int{}
	for _, r := range e.records {
		fates[r.fate]++
		statuses[e.documents[r.path()].status]++
	}
	for _, l := range e.letters {
		states[l.state]++
	}
	return fmt.Sprintf("%d faults on the %s cloud with %d relays in %v\n%d records: %s\nthey are: %s\n%d messages arrived; %d dead letters: %s; %d aggregates are frozen; the operator decided %d times and was refused %d times\nthe broker refused %d requests for the record in them; Pub/Sub itself failed %d",
		len(e.episodes)-1, s.opts.cloud, s.opts.relays, took.Round(time.Second),
		len(e.records), counts(fates), counts(statuses), len(e.arrivals), len(e.letters), counts(states), len(e.freezes), s.operator.done.Load(), s.operator.refused.Load(), s.broker.refusals.Load(), s.broker.failures.Load())
}

// counts renders numbers by name, the largest first.
func counts[K ~string](of map[K]int) string {
	var names []K
	for name := range of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b K) int { return cmp.Or(of[b]-of[a], strings.Compare(string(a), string(b))) })
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%d %s", of[name], name)
	}
	return strings.Join(parts, ", ")
}

// ofRecords are the guarantees that single records have, each a column.
var ofRecords = []struct {
	guarantee guarantee
	title     string
}{
	{nothingLost, "lost"},
	{orderKept, "disordered"},
	{rightlyDead, "wrongly dead"},
	{noAttemptBurned, "attempts burned"},
	{statesLegal, "illegal states"},
	{identityKept, "rewritten"},
}

// line is what is told of one kind of fault.
type line struct {
	kind       string
	times      int
	exposed    int               // records that were on their way during one
	broken     map[guarantee]int // of those
	duplicates int
	most       int             // duplicates of one fault
	recoveries []time.Duration // of each outbox, of faults that came alone
}

// printFaults prints fault by guarantee. A record counts with every fault that
// fell into its life.
func printFaults(w io.Writer, e *evidence, j *judgement) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	titles := []string{"fault", "times", "records exposed"}
	for _, column := range ofRecords {
		titles = append(titles, column.title)
	}
	titles = append(titles, "duplicates", "most", "recovery p50", "max")
	fmt.Fprintln(t, strings.Join(titles, "\t")+"\t")
	for _, l := range lines(e, j) {
		cells := []string{l.kind, fmt.Sprint(l.times), fmt.Sprint(l.exposed)}
		for _, column := range ofRecords {
			cells = append(cells, fmt.Sprint(l.broken[column.guarantee]))
		}
		cells = append(cells, fmt.Sprint(l.duplicates), fmt.Sprint(l.most), quantile(l.recoveries, 0.5), quantile(l.recoveries, 1))
		fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
	}
	_ = t.Flush() // to the terminal
}

func quantile(of []time.Duration, q float64) string {
	if len(of) == 0 {
		return "-"
	}
	slices.Sort(of)
	return of[int(q*float64(len(of)-1))].Round(time.Millisecond).String()
}

// lines sums the episodes up by kind, in the order in which kinds lists them.
func lines(e *evidence, j *judgement) []*line {
	byKind := map[string]*line{}
	most := map[*episode]int{}
	for _, d := range j.duplicates {
		if d.episode != nil {
			most[d.episode]++
		}
	}
	all := lives(e, j)
	for _, ep := range e.episodes {
		l := byKind[ep.kind]
		if l == nil {
			l = &line{kind: ep.kind, broken: map[guarantee]int{}}
			byKind[ep.kind] = l
		}
		l.times++
		l.duplicates += most[ep]
		l.most = max(l.most, most[ep])
		for _, d := range ep.recovery {
			l.recoveries = append(l.recoveries, d)
		}
		for _, life := range all {
			if !life.touches(ep) {
				continue
			}
			l.exposed++
			for _, g := range life.broken {
				l.broken[g]++
			}
		}
	}
	var out []*line
	for _, k := range append([]kind{{name: kindStart}}, kinds()...) {
		if l := byKind[k.name]; l != nil {
			out = append(out, l)
		}
	}
	return out
}

// life is the time in which a record was on its way.
type life struct {
	from, to time.Time
	broken   []guarantee
}

func (l *life) touches(e *episode) bool { return !l.from.After(e.ended) && !l.to.Before(e.began) }

// lives tells of each record when it was appended and when its last message
// arrived. One that ended without a message was on its way to the end.
func lives(e *evidence, j *judgement) map[string]*life {
	out := map[string]*life{}
	byKey := map[string]*life{}
	for _, r := range e.records {
		l := &life{from: r.appended}
		out[r.path()], byKey[r.outbox+"/"+r.key] = l, l
	}
	for _, a := range e.arrivals {
		if l := byKey[a.outbox+"/"+a.key]; l != nil && a.at.After(l.to) {
			l.to = a.at
		}
	}
	for _, l := range out {
		if l.to.IsZero() {
			l.to = l.from.Add(24 * time.Hour)
		}
	}
	for _, v := range j.violations {
		if l := out[v.subject]; l != nil && !slices.Contains(l.broken, v.guarantee) {
			l.broken = append(l.broken, v.guarantee)
		}
	}
	return out
}

// printGuarantees prints how much was looked at for each guarantee, and what
// came of it.
func printGuarantees(w io.Writer, j *judgement) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "guarantee\tlooked at\tviolations\t")
	broken := j.broken()
	for _, g := range guarantees() {
		if j.checked[g] > 0 || broken[g] > 0 {
			fmt.Fprintf(t, "%s\t%d\t%d\t\n", g, j.checked[g], broken[g])
		}
	}
	_ = t.Flush() // to the terminal
	fmt.Fprintf(w, "%d duplicates, of which one fault may cause %d\n", len(j.duplicates), j.bound)
	if j.excused > 0 {
		fmt.Fprintf(w, "%d records came after a higher version of their own commit: this cloud shows commits in pieces\n", j.excused)
	}
}

// violationsShown of a guarantee are printed at most: a broken relay breaks it
// thousands of times.
const violationsShown = 20

func printViolations(w io.Writer, j *judgement) {
	shown := map[guarantee]int{}
	for _, v := range j.violations {
		if shown[v.guarantee]++; shown[v.guarantee] <= violationsShown {
			fmt.Fprintf(w, "VIOLATION %v\n", v)
		}
	}
	for _, g := range guarantees() {
		if more := shown[g] - violationsShown; more > 0 {
			fmt.Fprintf(w, "and %d more of %q\n", more, g)
		}
	}
}
