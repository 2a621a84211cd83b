package main

import (
	"fmt"
	"io"
	"time"
)

// truth is what the producers committed, and what the table says at the end.
type truth struct {
	appended []string            // events
	order    map[string][]string // by aggregate: events, oldest first
	attempts int                 // of all rows
	unmarked int                 // rows that are not marked as published
}

// figures are what came of a run.
type figures struct {
	rows, rolledBack, kills, restarts, publishers int

	lost       int // committed, and never arrived
	missing    int // committed, and not in the table
	foreign    int // in the table, though nobody committed them
	outOfOrder int // arrived first after a younger one of their aggregate
	ghosts     int // arrived, though nobody committed them
	attempts   int
	unmarked   int
	duplicates int // messages beyond the first of an event
	most       int // messages of one event
	allowed    int // duplicates
	took       time.Duration
}

// judge holds what arrived, and the table, to what was committed, and the order to that of the table.
func judge(t *truth, a *arrivals) *figures {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := &figures{attempts: t.attempts, unmarked: t.unmarked}
	committed, there := map[string]bool{}, map[string]bool{}
	for _, id := range t.appended {
		committed[id] = true
		if a.events[id] == 0 {
			f.lost++
		}
	}
	f.rows = len(committed)
	for aggregate, ids := range t.order {
		place := make(map[string]int, len(ids))
		for i, id := range ids {
			place[id], there[id] = i, true
			if !committed[id] {
				f.foreign++
			}
		}
		highest := -1
		for _, id := range a.first[aggregate] {
			switch i, ok := place[id]; {
			case ok && i < highest:
				f.outOfOrder++
			case ok:
				highest = i
			}
		}
	}
	for id := range committed {
		if !there[id] {
			f.missing++
		}
	}
	for id, n := range a.events {
		f.duplicates += n - 1
		f.most = max(f.most, n)
		if !committed[id] {
			f.ghosts++
		}
	}
	return f
}

// broken are the promises that were not kept.
func (f *figures) broken() (all []string) {
	for _, p := range []struct {
		n    int
		what string
	}{
		{f.lost, "rows were lost"},
		{f.missing, "committed rows are not in the table"},
		{f.foreign, "rows are in the table that were not committed"},
		{f.outOfOrder, "rows arrived out of order"},
		{f.ghosts, "events arrived that were not committed"},
		{f.attempts, "attempts were counted, though nothing was refused"},
		{f.unmarked, "rows have no mark at the end"},
		{max(0, f.duplicates-f.allowed), "duplicates are more than kills and restarts explain"},
	} {
		if p.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return all
}

// print writes them.
func (f *figures) print(w io.Writer) error {
	per := 0.0
	if ends := f.kills + f.restarts; ends > 0 {
		per = float64(f.duplicates) / float64(ends)
	}
	_, err := fmt.Fprintf(w, "%d rows committed, %d rolled back; %d publishers, %d kills, %d restarts of Postgres; %v\n"+
		"lost %d, out of order %d, not committed %d, attempts %d, without a mark %d\n"+
		"duplicates %d: %.1f for each kill or restart, at most %d messages of one row\n",
		f.rows, f.rolledBack, f.publishers, f.kills, f.restarts, f.took.Round(time.Second),
		f.lost, f.outOfOrder, f.ghosts, f.attempts, f.unmarked, f.duplicates, per, f.most)
	if err != nil {
		return err
	}
	for _, text := range f.broken() {
		if _, err := fmt.Fprintln(w, "BROKEN:", text); err != nil {
			return err
		}
	}
	return nil
}
