package jobs

import (
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/relay/workqueue"
)

// Term is how long an instance has a job.
const Term = time.Minute

// waits are how long a job waits after so many failures.
var waits = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 60 * time.Minute}

// Backoff is how long a job waits after its n-th failure: 1, 5, 15, 60 minutes.
func Backoff(n int) time.Duration { return waits[min(max(n, 1), len(waits))-1] }

// Vocabulary is the queue of jobs.
func Vocabulary() workqueue.Vocabulary {
	return workqueue.Vocabulary{
		Queue: "jobs", Collection: outbox.Jobs, Pending: outbox.JobPending, Processing: outbox.JobProcessing,
		Fields: workqueue.Fields{
			Status: "status", CreatedAt: "createdAt", Attempts: "attempts", MaxAttempts: "maxAttempts", Due: "nextAttemptAt",
			LockedAt: "lockedAt", Owner: "lockOwner", LastError: "lastError", LastErrorCode: "lastErrorCode", UpdatedAt: "updatedAt",
		},
		Counts: workqueue.AtFailure, Term: Term, MaxAttempts: outbox.MaxJobAttempts, Backoff: Backoff, Tenant: tenant, TenantField: "orgId",
		Dead: func(*workqueue.Claim, workqueue.Failure) workqueue.Outcome {
			return workqueue.Outcome{Word: outbox.JobDead, Status: outbox.JobDead}
		},
		Logged:   []string{"eventId"},
		Outcomes: []string{outbox.JobSent, outbox.JobFailed, outbox.JobDead},
	}
}

// tenant is the organization, by the job's key: the names of one type of job are in
// the order of organizations. A document with another name, or with one so long that
// none could stand behind all of its organization's, is a tenant of its own.
func tenant(path string) (name, last string) {
	parts := strings.SplitN(path, ":", 3)
	if len(parts) < 3 {
		return path, path
	}
	if last = parts[0] + ":" + parts[1] + ":\U0010FFFF"; len(last)-len(outbox.Jobs+"/") > contracts.MaxDocumentIDBytes {
		return path, path
	}
	return parts[1], last
}

// sent closes a job that was sent.
func sent() workqueue.Outcome {
	return workqueue.Outcome{Word: outbox.JobSent, Status: outbox.JobSent, Updates: []firestore.Update{{Path: "sentAt", Value: firestore.ServerTimestamp}}}
}

// unknown closes a job of which nobody can know whether it was sent.
func unknown(why string) workqueue.Outcome {
	const most = 1 << 10 // bytes, as the engine keeps of an error
	return workqueue.Outcome{Word: outbox.JobFailed, Status: outbox.JobFailed, Updates: []firestore.Update{
		{Path: "lastError", Value: strings.ToValidUTF8(why[:min(len(why), most)], "")}, {Path: "lastErrorCode", Value: codeUnknown},
	}}
}
