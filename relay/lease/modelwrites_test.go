package lease

import (
	"time"

	"outboxrelay/dlq"
)

// writes renders what is settled of an entry, less what the flaw leaves out.
func (a *actor) writes(e *entry) []dlq.Write {
	st := e.out
	record := dlq.Write{
		Collection: modelRecords, ID: e.id, Op: dlq.OpUpdate, Fields: map[string]any{"status": st.kind, "attempts": e.attempts}, IfUnchangedSince: e.base,
	}
	switch st.kind {
	case "delivered":
		record.IfUnchangedSince = time.Time{} // true whoever says it
		delete(record.Fields, "attempts")
	case "retrying":
		record.Fields["attempts"] = st.attempts
		if a.m.flaw == flawRetry {
			record.IfUnchangedSince = time.Time{}
		}
	case "held":
		delete(record.Fields, "attempts")
		if a.m.flaw != flawFence {
			return []dlq.Write{record, {
				Collection: modelFreezes, ID: e.aggregate, Op: dlq.OpUpdate, IfUnchangedSince: a.work.frozen[e.aggregate],
			}}
		}
	case "dead":
		return a.burial(e, record)
	}
	return []dlq.Write{record}
}

func (a *actor) burial(e *entry, record dlq.Write) []dlq.Write {
	if a.m.flaw == flawDead {
		record.IfUnchangedSince = time.Time{}
	}
	letter := []dlq.Write{{Collection: modelLetters, ID: e.id, Op: dlq.OpCreate}}
	var freeze []dlq.Write
	if freezing(e.aggregate) {
		freeze = []dlq.Write{{Collection: modelFreezes, ID: e.aggregate, Op: dlq.OpSet}}
	}
	switch {
	case a.m.flaw == flawAtomic && e.out.part == 0:
		return append(letter, freeze...)
	case a.m.flaw == flawAtomic:
		return []dlq.Write{record}
	case a.m.flaw == flawFreeze && e.out.part == 0:
		return append(letter, record)
	case a.m.flaw == flawFreeze:
		return freeze
	}
	return append(append(letter, record), freeze...)
}
