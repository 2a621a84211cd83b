package requirements

import (
	"slices"

	"outboxrelay/contracts"
	inbox "outboxrelay/contracts/inbox/firestore"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

// IndexesOf lists what the service's queries need: those of the relay on each
// outbox, those of the dead-letter queue, those of the consumers' inbox, and those of the work
// queues, whether they are served or not: an index of a collection without documents costs
// nothing, and a queue that is turned on later finds what it needs. Single-field indexes are left as
// Firestore makes them, as people look for records and dead letters by whatever
// they know, but where they would harm: on what rises from document to document
// (createdAt and its like), where an index takes about 500 writes a second and
// no more; on what is large (payload, record, errors); and on status all but the
// one that the sweep needs.
func IndexesOf(catalog *contracts.Catalog) indexes.File {
	var out indexes.File
	for _, outbox := range catalog.Outboxes {
		out.Indexes = append(out.Indexes, laneIndex(outbox))
		out.FieldOverrides = append(out.FieldOverrides, outboxFields(outbox)...)
	}
	for _, index := range dlq.Indexes() {
		c := indexes.On(index.Collection, index.Equal...)
		for _, o := range index.OrderBy {
			c.Fields = append(c.Fields, IndexField{FieldPath: o.Field, Order: direction(o.Desc)})
		}
		out.Indexes = append(out.Indexes, c)
	}
	for _, field := range dlq.Unindexed() {
		out.FieldOverrides = append(out.FieldOverrides, exempt(contracts.CollectionDeadLetters, field))
	}
	for _, field := range inbox.Unindexed() {
		out.FieldOverrides = append(out.FieldOverrides, exempt(inbox.Collection, field))
	}
	out.FieldOverrides = append(out.FieldOverrides, expiring(inbox.Collection, inbox.FieldExpireAt))
	for _, queue := range []indexes.File{jobs.Indexes(), notifications.Indexes()} {
		out.Indexes = append(out.Indexes, queue.Indexes...)
		out.FieldOverrides = append(out.FieldOverrides, queue.FieldOverrides...)
	}
	return out
}

// laneIndex is the one composite index of an outbox: that of its lanes, which
// also finds what belongs to no lane and, where there are shards, to none of
// those.
func laneIndex(outbox *contracts.Outbox) CompositeIndex {
	fields := []string{contracts.FieldStatus, contracts.FieldLane, contracts.FieldCreatedAt}
	if outbox.Shards > 1 {
		fields = slices.Insert(fields, 1, contracts.FieldShard)
	}
	return indexes.On(outbox.Name, fields...)
}

// unindexed are a record's fields that nothing looks for alone: those that rise
// from one record to the next, and those that are large.
var unindexed = []string{
	contracts.FieldCreatedAt, contracts.FieldOccurredAt, contracts.FieldDeliveredAt, contracts.FieldNextAttemptAt,
	contracts.FieldPayload, contracts.FieldLastError, contracts.FieldAttemptErrors,
}

// outboxFields are the overrides of an outbox. By status alone records are looked
// for when the relay starts and sweeps.
func outboxFields(outbox *contracts.Outbox) []FieldOverride {
	out := []FieldOverride{keep(outbox.Name, contracts.FieldStatus, indexes.Ascending)}
	for _, field := range unindexed {
		out = append(out, exempt(outbox.Name, field))
	}
	return append(out, expiring(outbox.Name, contracts.FieldExpireAt))
}

// expiring has documents deleted some time after the time in a field, which is in no index.
func expiring(collection, field string) FieldOverride {
	out := exempt(collection, field)
	out.TTL = true
	return out
}

func direction(desc bool) string {
	if desc {
		return indexes.Descending
	}
	return indexes.Ascending
}

// exempt takes a field out of all single-field indexes.
func exempt(collection, field string) FieldOverride {
	return FieldOverride{CollectionGroup: collection, FieldPath: field, Indexes: []SingleFieldIndex{}}
}

// keep leaves a field in one single-field index.
func keep(collection, field, order string) FieldOverride {
	return FieldOverride{CollectionGroup: collection, FieldPath: field, Indexes: []SingleFieldIndex{{QueryScope: indexes.ScopeCollection, Order: order}}}
}
