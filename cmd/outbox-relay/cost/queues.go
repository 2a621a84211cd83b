package cost

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Queues are what the work queues are asked for. A queue without a rate is not served.
type Queues struct {
	Jobs          float64 // a second
	JobsOfEvent   float64 // of one domain event: its recipients, times their channels
	Channel       string  // of all jobs
	Notifications float64 // events a second
	Recipients    float64 // of one event
}

// Names of the work queues.
const (
	queueJobs          = "jobs"
	queueNotifications = "notifications"
)

// Channels of jobs.
const (
	ChannelInApp  = "in_app"
	ChannelEmail  = "email" // whose address is in users/{recipientId}
	ChannelPubSub = "pubsub"
)

// NoQueues are the rest of the defaults where no rate is given.
func NoQueues() Queues { return Queues{JobsOfEvent: 1, Channel: ChannelInApp, Recipients: 2} }

const maxRecipients = 20_000 // the relay's own

func (q Queues) validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, r := range []struct {
		name  string
		value float64
	}{{queueJobs, q.Jobs}, {queueNotifications, q.Notifications}} {
		if !(r.value >= 0) || r.value > maxRate {
			fault("%s are %v a second, want 0 to %d", r.name, r.value, maxRate)
		}
	}
	if !(q.JobsOfEvent >= 1) || q.JobsOfEvent > maxRecipients {
		fault("jobs of an event are %v, want 1 to %d", q.JobsOfEvent, maxRecipients)
	}
	if !(q.Recipients >= 1) || q.Recipients > maxRecipients {
		fault("recipients are %v, want 1 to %d: the relay refuses a larger audience", q.Recipients, maxRecipients)
	}
	if all := []string{ChannelInApp, ChannelEmail, ChannelPubSub}; !slices.Contains(all, q.Channel) {
		fault("channel is %q, want one of %v", q.Channel, all)
	}
	return errors.Join(errs...)
}

// Emit is what a producer pays for a domain event with so many jobs: it looks whether each
// of the documents is there, and creates it.
func Emit(jobs float64) Operations { return Operations{Reads: 1 + jobs, Writes: 1 + jobs} }

// found is what the listeners of all instances read of a document that comes and is
// claimed: as it enters the window, and as it leaves it changed. All but one try to claim it
// in vain, or hear of the other's claim in time.
func found(instances int) Operations {
	return reads(2 + (2+readsOfRace)*float64(instances-1))
}

// readsOfRace is what a further instance reads of a document that it tries to claim in
// vain: measured, with documents that come one at a time.
const readsOfRace = 0.4

// Job is what the relay pays for a job that is sent at the first attempt: beside what
// finds it, it reads the job to claim it and to close it, and its domain event, and writes the job
// as often. The message of in_app is looked for and created as the job is closed; the
// recipient of an email is looked up.
func Job(channel string, instances int) Operations {
	out := found(instances).Plus(Operations{Reads: 3, Writes: 2})
	switch channel {
	case ChannelInApp:
		out = out.Plus(Operations{Reads: 1, Writes: 1})
	case ChannelEmail:
		out = out.Plus(reads(1))
	}
	return out
}

// Create is what a front end pays for an event of notifications: its document, and for the
// security rules the look whether its account is a member.
func Create() Operations { return Operations{Reads: 1, Writes: 1} }

// chunkOfNotifications is how many notifications one commit holds at most.
const chunkOfNotifications = 400

// Notification is what the relay pays for an event for so many people of a role, which is
// dispatched at the first attempt. Beside what finds it, it reads the event to claim it; then
// the event, its queue document, its marker, the query for its key, and each person; and
// writes the claim, the end of the event, the queue document, the marker, the figures of the hour and
// each notification. Each further commit reads the event and the queue document, and writes
// them and the figures. The marker expires.
func Notification(recipients float64, instances int) Operations {
	further := math.Ceil(recipients/chunkOfNotifications) - 1
	return found(instances).Plus(Operations{Reads: 5 + recipients, Writes: 5 + recipients, Expired: 1}).
		Plus(Operations{Reads: 2, Writes: 3}.Times(further))
}

// How often an instance looks through a queue, and replaces its listener: those of
// workqueue.Tuning.
const (
	queueRound   = time.Minute
	queueRecycle = 30 * time.Minute
)

// WorkQueues is what so many work queues cost while nothing is in them: each instance's
// rounds, and its listener when it is replaced.
func (f Fleet) WorkQueues(n int) Operations {
	each := reads(1).every(queueRound).Plus(reads(1).every(queueRecycle))
	return each.Times(float64(n * f.Instances))
}

// writesOfPending is how often a document is written into the index of what is pending: as it
// comes, and as it is claimed.
const writesOfPending = 2

// rateOf is how many documents of a queue come in a second.
func (q Queues) rateOf(queue string) float64 {
	if queue == queueJobs {
		return q.Jobs
	}
	return q.Notifications
}

// parts are the causes of operations in a second.
func (q Queues) parts(f Fleet) []part {
	served := 0
	for _, rate := range []float64{q.Jobs, q.Notifications} {
		if rate > 0 {
			served++
		}
	}
	return []part{
		{"jobs: the producers' domain events and jobs", Emit(q.JobsOfEvent).Times(q.Jobs / q.JobsOfEvent), Published, false},
		{"jobs: found, sent and closed", Job(q.Channel, f.Instances).Times(q.Jobs), Measured, false},
		{"notifications: the front ends' events", Create().Times(q.Notifications), Published, false},
		{"notifications: found and dispatched", Notification(q.Recipients, f.Instances).Times(q.Notifications), Measured, false},
		{"idle: rounds and listeners of work queues", f.WorkQueues(served), Measured, true},
	}
}
