package relay

import (
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// short reports whether the memory of a task's outbox and lane is short.
func short(t *lanes.Task) bool {
	e, ok := t.Work.(*entry)
	return ok && e.Home != nil && ask(e.Home.Owner.(*intake), (*feed.Feed).Short)
}

// shed leaves records of an aggregate behind that would wait in memory for its head
// while others have no room.
func shed(tasks []*lanes.Task) {
	for _, t := range tasks {
		e := t.Work.(*entry) // only records are offered
		if e.outbox.guard.do(partShed, func() error { e.outbox.refused(e); return nil }) != nil {
			e.outbox.notTaken(e)
		}
	}
}
