package dlq

import "outboxrelay/contracts"

// Burial renders a new dead letter as the writes of one commit: the dead letter
// itself first, then its group, an audit entry, and for SECURITY_BLOCK the
// freeze and the alert. The caller adds the record's own write, and leaves out
// the group's where it wrote that before: in a flood of one kind of failure the
// group's document would be a hot spot. That of a consumer freezes nothing and alerts
// nobody: the record was delivered.
func (i *Item) Burial(groupKnown bool) []Write {
	group := GroupOf(i)
	i.Group = group.ID
	writes := []Write{{Collection: contracts.CollectionDeadLetters, ID: i.ID, Op: OpCreate, Fields: i.Fields()}}
	if !groupKnown {
		writes = append(writes, group.Write())
	}
	if i.Tier != contracts.SecurityBlock || i.Consumer != "" {
		return writes
	}
	alert := alertOf(i)
	if freeze, ok := i.freezes(); ok {
		frozen := &Entry{
			ID: ID("freeze-" + alert.ID), Actor: Service().Name, Action: ActionFreeze, Subject: SubjectFreeze, On: i.AggregateID, To: string(Frozen),
			Reason: string(i.Reason), Outbox: i.Outbox, EventID: i.EventID, EventType: i.EventType, TraceID: i.TraceID, AggregateID: i.AggregateID,
		}
		audit := frozen.Write()
		audit.Op = OpSet // a commit whose answer was lost is sent again
		writes = append(writes, freeze, audit)
	}
	return append(writes, alert.write())
}

// BurialOver is Burial in place of an earlier death of the same record, as long as
// nobody has changed it since it was read: what was decided about it stays.
func (i *Item) BurialOver(before *Item, groupKnown bool) []Write {
	i.Decisions = before.Decisions
	writes := i.Burial(groupKnown)
	writes[0].Op, writes[0].IfUnchangedSince = OpSet, before.UpdateTime
	return writes
}
