package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"outboxrelay/dlq/admin"
)

// queuesPage is what the screen of the work queues shows.
type queuesPage struct {
	Instance string
	Warning  string
	Counted  time.Time
	Queues   []queueFigures
}

// queueFigures are one work queue as the page shows it.
type queueFigures struct {
	admin.WorkQueue

	Tallies  []statusTally
	Troubles []trouble
	Wrong    bool // one of them cannot wait
	Took     string
	Idle     bool // it has no documents, and does not run here
}

// statusTally is how many documents have a status, and where they are listed.
type statusTally struct {
	Name, Count, At, Tone string
}

// addQueues adds the work queues, their documents, and each document.
func addQueues(s *server) {
	s.screen("/queues", "queues.html", s.queues)
	s.screen("/queues/{queue}", "queueitems.html", s.queueItems)
	addQueueItem(s)
}

func (s *server) queues(ctx context.Context, v *visit) (*page, error) {
	f, err := s.queueFactsOf(ctx, v.ask)
	if err != nil {
		return nil, err
	}
	content := queuesPage{Instance: f.Instance, Warning: f.Warning, Counted: f.At}
	for _, q := range f.Items {
		content.Queues = append(content.Queues, figuresOfQueue(q, f.stale[q.Queue]))
	}
	return &page{Title: "Queues", Section: "queues", Follows: []string{topicQueueItems, topicClock}, Content: content}, nil
}

func figuresOfQueue(q admin.WorkQueue, s staleLeases) queueFigures {
	f := queueFigures{WorkQueue: q, Troubles: queueTroubles(q, s), Idle: q.Here == nil && q.Other == 0}
	for _, st := range q.Statuses {
		f.Tallies = append(f.Tallies, standingOf(q.Queue, "", st))
		f.Idle = f.Idle && st.Count == 0
	}
	for _, t := range f.Troubles {
		f.Wrong = f.Wrong || t.Bad
	}
	if h := q.Here; h != nil {
		f.Took = lasting(time.Duration(h.RoundMillis) * time.Millisecond)
	}
	return f
}

// standingOf counts documents of a status, and leads to those of one tenant; "" is any.
func standingOf(queue, tenant string, s admin.QueueStatus) statusTally {
	t := statusTally{Name: spelled(s.Status), Count: thousands(s.Count), At: at(queuePath(queue), "status", s.Status, "tenant", tenant), Tone: toneOf(s)}
	if s.AtLeast {
		t.Count += " or more"
	}
	if s.Count == 0 {
		t.Tone = ""
	}
	return t
}

// toneOf is how much a status asks for somebody.
func toneOf(s admin.QueueStatus) string {
	switch {
	case s.Bad:
		return "bad"
	case s.Open:
		return "warn"
	}
	return "good"
}

// queuePath is the list of a queue's documents, below Prefix.
func queuePath(queue string) string { return "/queues/" + url.PathEscape(queue) }

// statusOf finds a queue's status; ok is false where the queue has none of that name.
func statusOf(list *admin.WorkQueueList, queue, status string) (s admin.QueueStatus, ok bool) {
	q := queueNamed(list, queue)
	if q == nil {
		return s, false
	}
	for _, s := range q.Statuses {
		if s.Status == status {
			return s, true
		}
	}
	return s, false
}

// queueNamed is nil where there is none of that name.
func queueNamed(list *admin.WorkQueueList, name string) *admin.WorkQueue {
	for n := range list.Items {
		if list.Items[n].Queue == name {
			return &list.Items[n]
		}
	}
	return nil
}

// noQueue refuses a name, as the API does.
func noQueue(name string) *fault {
	return &fault{http.StatusNotFound, fmt.Sprintf("there is no work queue %q", brief(name, maxName)), "the queues that there are stand on the screen Queues"}
}
