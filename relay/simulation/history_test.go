package simulation

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"outboxrelay/ier"
)

// event is one line of a run's history.
type event struct {
	At     time.Duration
	Who    string
	What   string
	About  string // a record's name; "": of no single one
	Detail string
}

func (e event) String() string {
	return fmt.Sprintf("%s  %-8s  %-10s %s %s", clock(e.At), e.Who, e.What, e.About, e.Detail)
}

// note adds a line to the history.
func (j *judge) note(who, what, about, detail string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.noteLocked(who, what, about, detail)
}

func (j *judge) noteLocked(who, what, about, detail string) {
	if r := j.records[about]; r != nil {
		about = r.name
	}
	j.events = append(j.events, event{j.world.elapsed(), who, what, about, detail})
}

func (j *judge) history() []event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

// showed notes which records a process was shown.
func (j *judge) showed(x *wire, how, outbox string, docs []*document) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range docs {
		if path := outbox + "/" + d.id; j.records[path] != nil {
			j.noteLocked(x.who, "shown", path, fmt.Sprintf("%s, by a %s", statusOf(d), how))
		}
	}
}

// hash is the same for histories that went the same way.
func hash(events []event) uint64 {
	h := fnv.New64a()
	for _, e := range events {
		fmt.Fprintln(h, e)
	}
	return h.Sum64()
}

// replayOf names the dead letter that a parcel is a replay of; "": it is none.
func replayOf(p ier.Parcel) string { return p.Message.Attributes["replay"] }
