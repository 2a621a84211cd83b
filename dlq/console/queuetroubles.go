package console

import (
	"fmt"
	"time"

	"outboxrelay/dlq/admin"
)

const (
	// oldPending is from which age on somebody should know of a pending document. It may wait
	// for its next attempt: a queue's documents wait an hour at most.
	oldPending = 10 * time.Minute
	// lostPending is over what all attempts of a document take.
	lostPending = 2 * time.Hour
)

// workTroubles are those of all work queues.
func workTroubles(f *facts) []trouble {
	var out []trouble
	switch {
	case f.queues == nil && f.summary != nil && f.summary.Warning == "":
		return []trouble{{
			About: "queues", Bad: true, What: "The work queues cannot be counted.", Path: "/queues", LinkText: "Queues",
			Do: "see whether their indexes are deployed, and whether the service account may read (outbox-relay doctor)",
		}}
	case f.queues == nil: // Firestore is away, which is told
		return nil
	}
	for _, q := range f.queues.Items {
		out = append(out, queueTroubles(q, f.queues.stale[q.Queue])...)
	}
	return out
}

// queueTroubles are those of one work queue.
func queueTroubles(q admin.WorkQueue, s staleLeases) []trouble {
	var out []trouble
	for _, st := range q.Statuses {
		if st.Bad && st.Count > 0 {
			out = append(out, badEnds(q, st))
		}
	}
	if s.Count > 0 {
		out = append(out, trouble{
			About: "stale " + q.Queue, Bad: true, When: "The first of these leases ended", Since: s.Oldest, Path: listPath(q, statusProcessing), LinkText: "Show them",
			What: fmt.Sprintf("%s of queue %s: the worker is gone, and nobody has taken over.", howMany(s.Count, "stale lock", "stale locks"), q.Queue),
			Do:   "see whether an instance runs the queue (serve --queues) and whether its rounds go well: it takes such a document over by itself, within a minute or two",
		})
	}
	if q.Other > 0 {
		out = append(out, strangeStatus(q))
	}
	if t, old := oldTrouble(q); old {
		out = append(out, t)
	}
	out = append(out, hereTroubles(q)...)
	worstFirst(out)
	return out
}

func listPath(q admin.WorkQueue, status string) string {
	return at(queuePath(q.Queue), "status", status)[len(Prefix):]
}

// badEnds tells of documents that nobody acts on any more, unless a person decides so.
func badEnds(q admin.WorkQueue, s admin.QueueStatus) trouble {
	count := standingOf(q.Queue, "", s).Count
	t := trouble{About: q.Queue + " " + s.Status, Path: listPath(q, s.Status), LinkText: "Show them"}
	one := s.Count == 1
	switch {
	case maybeSent(q.Queue, s.Status) && one:
		t.What = "1 job of queue jobs failed while it was sent: nobody knows whether it was."
	case maybeSent(q.Queue, s.Status):
		t.What = count + " jobs of queue jobs failed while they were sent: nobody knows whether they were."
	case one:
		t.What = fmt.Sprintf("1 document of queue %s is %s: it was tried as often as it may be, or can never succeed.", q.Queue, spelled(s.Status))
	default:
		t.What = fmt.Sprintf("%s documents of queue %s are %s: they were tried as often as they may be, or can never succeed.", count, q.Queue, spelled(s.Status))
	}
	if maybeSent(q.Queue, s.Status) {
		t.Do = "ask the recipient or the channel whether it came; an operator requeues what did not, and leaves the rest"
	} else {
		t.Do = "mend what the last error says; an operator requeues it then"
	}
	return t
}

// strangeStatus tells of documents that the queue does not know for its own.
func strangeStatus(q admin.WorkQueue) trouble {
	count := howMany(q.Other, "document", "documents")
	if q.OtherAtLeast {
		count += " or more"
	}
	return trouble{
		About: "other " + q.Queue,
		What:  fmt.Sprintf("Queue %s has %s of an unknown status, or of none: nobody acts on them.", q.Queue, count), Path: "/queues#queue-" + q.Queue, LinkText: "Queues",
		Do: "see docs/QUEUES.md for how to find them; mend whoever writes them, then set their status",
	}
}

// maybeSent reports whether nobody knows whether documents of a status did what they are for.
func maybeSent(queue, status string) bool { return queue == "jobs" && status == "failed" }

func oldTrouble(q admin.WorkQueue) (trouble, bool) {
	age := time.Duration(q.OldestAgeMillis) * time.Millisecond
	if q.OldestPending.IsZero() || age < oldPending || len(q.Statuses) == 0 {
		return trouble{}, false
	}
	t := trouble{
		About: "old " + q.Queue,
		What:  fmt.Sprintf("The oldest pending document of queue %s is %s old.", q.Queue, lasting(age)),
		When:  "It was created", Since: q.OldestPending, Path: listPath(q, q.Statuses[0].Status), LinkText: "Show what is pending",
		Do: "nothing, if it waits for its next attempt: it says when that is due. Else see whether the queue runs, and keeps up",
	}
	if t.Bad = age >= lostPending; t.Bad {
		t.What += " No document waits that long for its attempts."
		t.Do = "see whether the queue keeps up, and whether more instances have to run it"
	}
	if q.Here == nil {
		t.What += " This instance does not run the queue."
		t.Do = "see whether any instance runs it: serve --queues=" + q.Queue
	}
	return t, true
}

// hereTroubles are those of the instance that answers.
func hereTroubles(q admin.WorkQueue) []trouble {
	h := q.Here
	if h == nil {
		return nil
	}
	var out []trouble
	path := "/queues#queue-" + q.Queue
	switch h.Listener {
	case "rebuilding":
		t := trouble{About: "listener " + q.Queue, Bad: true, What: fmt.Sprintf("The listener of queue %s is being rebuilt.", q.Queue), Path: path, LinkText: "Queues"}
		if h.RebuiltFor != "" {
			t.What += " It ended for " + h.RebuiltFor + "."
		}
		t.Do = "nothing for a minute: rounds find what it misses. Else see whether Firestore answers"
		out = append(out, t)
	case "starting":
		out = append(out, trouble{
			About: "listener " + q.Queue,
			What:  fmt.Sprintf("The listener of queue %s is starting.", q.Queue), Path: path, LinkText: "Queues", Do: "nothing for half a minute. Else see whether Firestore answers",
		})
	}
	if h.RoundErrorCode != "" {
		out = append(out, trouble{
			About: "round " + q.Queue, Bad: true, When: "That was", Since: h.RoundAt, Path: path, LinkText: "Queues",
			What: fmt.Sprintf("The last round through queue %s failed: %s.", q.Queue, h.RoundErrorCode),
			Do:   "see whether Firestore answers, and whether the queue's indexes are deployed and the service account may read (outbox-relay doctor). It is tried again by itself",
		})
	}
	return out
}
