package console

import (
	"strings"
	"time"

	"outboxrelay/dlq/admin"
)

// queueStory tells in one sentence what happened to a document of a work queue, and how it
// stands. known is false for a status that is none of the queue's.
func queueStory(d *queueDetail, status admin.QueueStatus, known bool, now time.Time) []piece {
	t := &telling{}
	t.says("%s", brief(itemName(d.QueueItem), maxName))
	if about := itemAbout(d.QueueItem); about != "" {
		t.says(" (%s)", about)
	}
	switch {
	case !known:
		t.says(" has the status %q, which is none of queue %s: nobody acts on it", brief(d.Status, maxName), d.Queue)
	case maybeSent(d.Queue, d.Status):
		t.says(" failed while it was being sent: nobody knows whether it was sent, and nobody sends it again unless a person decides so")
	case status.Bad:
		t.says(" is %s after %s%s: nobody tries it again unless a person decides so", spelled(d.Status), tries(d), failing(d))
	case d.Status == statusProcessing:
		t.underWay(d, now)
	case status.Open:
		t.waiting(d, now)
	default:
		t.says(" is %s since ", spelled(d.Status))
		t.at(closedAt(d))
		if d.Attempts > 1 {
			t.says(", after %s", tries(d))
		}
	}
	t.says(".")
	return t.pieces
}

// underWay tells of one that a worker has, or had.
func (t *telling) underWay(d *queueDetail, now time.Time) {
	owner := "a worker"
	if d.Owner != "" {
		owner = brief(d.Owner, maxName)
	}
	switch {
	case d.LeaseEnds.IsZero():
		t.says(" is in the hands of %s", owner)
	case stale(d.QueueItem, now):
		t.says(" was in the hands of %s, whose lease ended ", owner)
		t.at(d.LeaseEnds)
		t.says(": an instance that runs the queue should have taken it over, and none has")
	case now.After(d.LeaseEnds):
		t.says(" was in the hands of %s, whose lease ended ", owner)
		t.at(d.LeaseEnds)
		t.says(": an instance that runs the queue takes it over by itself, within a minute or two")
	default:
		t.says(" is in the hands of %s, with a lease until ", owner)
		t.at(d.LeaseEnds)
	}
}

// waiting tells of one that is pending.
func (t *telling) waiting(d *queueDetail, now time.Time) {
	if d.Attempts > 0 {
		t.says(" failed in %s%s, and", tries(d), failing(d))
	}
	if d.DueAt.After(now) {
		t.says(" waits for its next attempt, due ")
		t.at(d.DueAt)
		return
	}
	t.says(" waits for a worker: it is due")
}

func tries(d *queueDetail) string {
	if d.MaxAttempts > 0 {
		return thousands(d.Attempts) + " of " + howMany(d.MaxAttempts, "attempt", "attempts")
	}
	return howMany(d.Attempts, "attempt", "attempts")
}

// failing is the last error, as a part of a sentence; "" where there is none.
func failing(d *queueDetail) string {
	said := strings.TrimSuffix(strings.TrimPrefix(d.LastErrorCode+": "+d.LastError, ": "), ": ")
	if said == "" {
		return ""
	}
	return ", the last time with “" + brief(strings.TrimSuffix(said, "."), maxFailure) + "”"
}

// closedAt is the time of its end.
func closedAt(d *queueDetail) time.Time {
	for _, e := range d.History {
		if e.Kind == "closed" && !e.At.IsZero() {
			return e.At
		}
	}
	return d.UpdatedAt
}
