package dlq

import (
	"slices"

	"outboxrelay/contracts"
)

// Index is a composite index that the queue's queries need. Firestore merges
// several for a query whose equalities no single one holds, when all go on with
// the query's whole order.
type Index struct {
	Collection string
	Equal      []string // fields compared for equality
	OrderBy    []Order  // the document ID follows in the last one's direction, by itself
}

// The orders of the queue's lists.
var (
	latestDead  = []Order{{contracts.DeadFieldDeadAt, true}, {FieldID, true}}
	oldestDead  = []Order{{contracts.DeadFieldDeadAt, false}, {FieldID, false}}
	firstDue    = []Order{{contracts.DeadFieldNextReplayAt, false}, {FieldID, false}}
	latestEntry = []Order{{fieldAt, true}, {FieldID, true}}
)

var (
	// byVersion serves what stands before a dead letter in its aggregate.
	byVersion = Index{
		contracts.CollectionDeadLetters,
		[]string{contracts.FieldAggregateID, contracts.DeadFieldOutbox, contracts.DeadFieldOpen},
		[]Order{{contracts.FieldAggregateVersion, false}},
	}
	// byConsumer serves the same where other consumers' stand before it.
	byConsumer = Index{byVersion.Collection, slices.Concat(byVersion.Equal, []string{contracts.DeadFieldConsumer}), byVersion.OrderBy}
	// byDue serves what is to be replayed, and when.
	byDue = Index{
		contracts.CollectionDeadLetters,
		[]string{contracts.DeadFieldTier, contracts.DeadFieldOutbox},
		[]Order{{contracts.DeadFieldNextReplayAt, false}},
	}
	// byAsked serves the replays that people asked for, the latest first.
	byAsked = Index{
		contracts.CollectionDeadLetters,
		[]string{contracts.DeadFieldTier, contracts.DeadFieldOutbox},
		[]Order{{replayingAt, true}},
	}
)

// replayingAt is when a replay was asked for that has not ended.
const replayingAt = contracts.DeadFieldReplaying + "." + fieldAt

// Indexes lists the composite indexes of the queue's own collections. Those of
// the lists follow from what their filters compare.
func Indexes() []Index {
	out := []Index{byVersion, byConsumer, byDue, byAsked}
	for _, f := range itemConditions {
		out = append(
			out,
			Index{contracts.CollectionDeadLetters, []string{f.field}, stored(latestDead)},
			Index{contracts.CollectionDeadLetters, []string{f.field}, stored(oldestDead)},
		)
	}
	for _, f := range entryConditions {
		out = append(out, Index{contracts.CollectionAudit, []string{f.field}, stored(latestEntry)})
	}
	return out
}

// stored leaves out the document ID, which every index ends in.
func stored(order []Order) []Order {
	return slices.DeleteFunc(slices.Clone(order), func(o Order) bool { return o.Field == FieldID })
}

// Unindexed lists fields of dead letters that nothing looks for. Without their
// single-field indexes a dead letter costs fewer index entries, of which
// Firestore allows 40,000 for one document.
func Unindexed() []string {
	return []string{contracts.DeadFieldRecord, contracts.DeadFieldErrors, contracts.DeadFieldDecisions}
}
