package workqueue

import "outboxrelay/deploy/firestore/indexes"

// Indexes are the indexes that the queries of the engine, and of who looks at the queue,
// need beside the automatic ones.
func (v *Vocabulary) Indexes() indexes.File {
	newest := indexes.On(v.Collection, v.Fields.Status, "-"+v.Fields.CreatedAt)
	oldest := indexes.On(v.Collection, v.Fields.Status, v.Fields.CreatedAt) // pending
	out := indexes.File{}
	switch {
	case v.Group:
		out.Indexes = append(out.Indexes, newest) // of one tenant
		newest.QueryScope, oldest.QueryScope = indexes.ScopeGroup, indexes.ScopeGroup
		out.FieldOverrides = []indexes.Override{{CollectionGroup: v.Collection, FieldPath: v.Fields.Status, Indexes: []indexes.Single{
			{QueryScope: indexes.ScopeCollection, Order: indexes.Ascending},
			{QueryScope: indexes.ScopeCollection, Order: indexes.Descending},
			{QueryScope: indexes.ScopeGroup, Order: indexes.Ascending},
		}}}
	case v.TenantField != "":
		out.Indexes = append(out.Indexes, indexes.On(v.Collection, v.TenantField, "-"+v.Fields.CreatedAt))
	}
	out.Indexes = append(out.Indexes, newest, oldest)
	return out
}
