// Package jobs does the jobs of outbox that contracts/outbox's Emit creates: it
// tells one recipient of a domain event, over one channel, by a template.
//
// A job is sent at most once. Where a channel can tell, by what it writes, whether it was
// sent (in_app: a document whose ID is the job's key, created by the commit that marks the
// job sent), a worker's death leads to another attempt. Where it cannot (email, pubsub), only a
// failure that is sure to have sent nothing does; any other, and a worker that died
// while it had the job, makes it failed, and a person decides.
//
//	pending ──claim──▶ processing ──▶ sent
//	   ▲                   │  └─────▶ failed   nobody can know whether it was sent
//	   └─1, 5, 15, 60 min──┴────────▶ dead     the fifth failure, or a permanent one
//
// What needs a person is found by a query that its automatic index serves, and counted
// by type of job in the same way:
//
//	outbox where status in ("failed", "dead") [and jobType == ...]
package jobs
