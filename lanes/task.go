package lanes

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Task is one piece of work in a lane. Its exported fields are the caller's to
// set before Submit and nobody's to change while the task is in the lane.
type Task struct {
	Aggregate string    // tasks of one aggregate run one after another
	Version   int64     // order within the aggregate, lower first
	Tie       string    // orders equal versions; equal ties run in the order of their submission
	Appended  time.Time // start of the SLA clock; zero: the moment of Submit
	Needs     []string  // the targets that a run of it waits for: workers are shared by them
	Work      any       // the caller's; the pool never looks at it

	stay stay
}

// stay is what the pool knows about a task that is in it.
type stay struct {
	inLane    bool
	seq       uint64    // order of submission
	notBefore time.Time // end of the latest wait
	on        string    // label for Wake, of the latest wait
	offered   bool      // it came by Offer, and can be fetched again
	behind    int       // what Offer was told, if so

	queuedAt  time.Time     // start of the present time in the queue
	blockedAt time.Duration // the aggregate's blocked clock at queuedAt
	waited    time.Duration
	backedOff time.Duration
}

// Waited returns how long the task was queued for a worker or for older tasks
// of its aggregate, without backoff. It is up to date, and safe to call, in the
// handler that runs the task and once the task left the lane.
func (t *Task) Waited() time.Duration { return t.stay.waited }

// BackedOff returns how long the task was held back by a retry: its own, or
// that of an older task of its aggregate. It is up to date when Waited is.
func (t *Task) BackedOff() time.Duration { return t.stay.backedOff }

// waits reports whether the task's retry is still to come.
func (t *Task) waits(now time.Time) bool { return now.Before(t.stay.notBefore) }

// hold makes the task wait as v says. A label that was woken while the handler
// still ran ends the wait before it starts.
func (t *Task) hold(v Verdict, woken []string) {
	if v.On != "" && slices.Contains(woken, v.On) {
		return
	}
	t.stay.notBefore, t.stay.on = v.At, v.On
}

// position is a place in an aggregate's order.
type position struct {
	version int64
	tie     string
}

func (t *Task) position() position { return position{t.Version, t.Tie} }

func (a position) compare(b position) int {
	return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.tie, b.tie))
}

// compare orders the tasks of one aggregate; never 0 for two tasks.
func (t *Task) compare(u *Task) int {
	return cmp.Or(t.position().compare(u.position()), cmp.Compare(t.stay.seq, u.stay.seq))
}

// taskQueue is a min-heap of one aggregate's tasks. In-order appends cost O(1).
type taskQueue []*Task

func (q taskQueue) Len() int           { return len(q) }
func (q taskQueue) Less(i, j int) bool { return q[i].compare(q[j]) < 0 }
func (q taskQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *taskQueue) Push(x any)        { *q = append(*q, x.(*Task)) }

func (q *taskQueue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return t
}

// head returns the next task, or nil when there is none.
func (q taskQueue) head() *Task {
	if len(q) == 0 {
		return nil
	}
	return q[0]
}

func (q *taskQueue) add(t *Task) { heap.Push(q, t) }

// pop removes the head.
func (q *taskQueue) pop() *Task { return heap.Pop(q).(*Task) }
