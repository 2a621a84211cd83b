package workqueue

import "outboxrelay/deploy/firestore/indexes"

// Indexes are the indexes that the engine's queries need beside the automatic ones.
func (v *Vocabulary) Indexes() indexes.File {
	newest := indexes.On(v.Collection, v.Fields.Status, "-"+v.Fields.CreatedAt)
	if !v.Group {
		return indexes.File{Indexes: []indexes.Composite{newest}}
	}
	newest.QueryScope = indexes.ScopeGroup
	return indexes.File{
		Indexes: []indexes.Composite{newest},
		FieldOverrides: []indexes.Override{{CollectionGroup: v.Collection, FieldPath: v.Fields.Status, Indexes: []indexes.Single{
			{QueryScope: indexes.ScopeCollection, Order: indexes.Ascending},
			{QueryScope: indexes.ScopeCollection, Order: indexes.Descending},
			{QueryScope: indexes.ScopeGroup, Order: indexes.Ascending},
		}}},
	}
}
