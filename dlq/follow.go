package dlq

import (
	"context"
	"time"

	"outboxrelay/contracts"
)

// Change is one thing of the queue that was changed, by a person or by the
// service. The zero Change is that more may have changed than is told.
type Change struct {
	Subject Subject
	On      string // the dead letter's ID, the aggregate, the lane, the bulk replay
}

// followed is how many of the latest entries, dead letters and bulk replays a
// follower's listeners show. When more than that change between two results, the
// zero Change is told.
const followed = 20

// followQuiet is how long a follower's listener may tell nothing before it is
// replaced, which reads its documents again.
const followQuiet = 10 * time.Minute

// Follow calls told with what changes, until ctx ends: decisions and ends of
// replays, which all are in the audit, arrivals, and the progress of bulk replays.
// As each of these begins to be followed it tells the zero Change: whoever asked
// Firestore before that may have missed something. It costs a read for each
// change, and 60 to begin with and after each ten minutes without any.
func (q *Queue) Follow(ctx context.Context, told func([]Change)) error {
	c := SiblingConfig{Log: q.log, Quiet: followQuiet}.withDefaults()
	follow := func(query Query, change func(Doc) Change) func(context.Context) error {
		query.Limit = followed
		return func(ctx context.Context) error {
			latest := newLatest(change)
			return listenOn(ctx, q.store, query, c, func(docs []Doc) {
				if changes := latest.changes(docs); len(changes) > 0 {
					told(changes)
				}
			})
		}
	}
	on := func(s Subject) func(Doc) Change { return func(d Doc) Change { return Change{s, d.ID} } }
	return together(
		ctx, "followers of the queue",
		follow(Query{Collection: contracts.CollectionAudit, OrderBy: latestEntry}, func(d Doc) Change {
			e := DecodeEntry(d)
			return Change{e.Subject, e.On}
		}),
		follow(Query{Collection: contracts.CollectionDeadLetters, OrderBy: latestDead, Select: []string{contracts.DeadFieldDeadAt}}, on(SubjectDeadLetter)),
		follow(Query{Collection: contracts.CollectionReplays, OrderBy: latestBulk, Select: []string{bulkCreatedAt}}, on(SubjectBulk)),
	)
}

// latest compares the results of a listener to the latest documents.
type latest struct {
	change func(Doc) Change
	known  map[string]time.Time // update times, by ID; nil before the first result
}

func newLatest(change func(Doc) Change) *latest { return &latest{change: change} }

// changes tells what docs have that the result before had not. The first result
// has none before it to be compared with.
func (l *latest) changes(docs []Doc) []Change {
	before := l.known
	l.known = make(map[string]time.Time, len(docs))
	var out []Change
	kept := 0
	for _, d := range docs {
		l.known[d.ID] = d.UpdateTime
		at, ok := before[d.ID]
		if ok {
			kept++
		}
		if !ok || !at.Equal(d.UpdateTime) {
			out = append(out, l.change(d))
		}
	}
	switch {
	case before == nil:
		return []Change{{}}
	case kept == 0 && len(before) > 0 && len(docs) == followed:
		return append(out, Change{})
	}
	return out
}
