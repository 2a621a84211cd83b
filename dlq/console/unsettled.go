package console

import (
	"fmt"
	"slices"
	"time"

	"outboxrelay/dlq/admin"
)

const (
	// unsettledTold is for how long Firestore takes no commit of an outbox
	// before anybody is told: one that fails now and then is tried again.
	unsettledTold = 30 * time.Second
	// unsettledBad is after what time it cannot wait; the alert RelayOutboxUnsettled
	// waits as long.
	unsettledBad = 5 * time.Minute
)

// unsettledTroubles are the outboxes of which Firestore takes no commit, on the
// instance that answers.
func unsettledTroubles(list *admin.LaneList, now time.Time) []trouble {
	var all []admin.Unsettled
	for _, l := range list.Items {
		for _, u := range l.Unsettled {
			at := slices.IndexFunc(all, func(have admin.Unsettled) bool { return have.Outbox == u.Outbox })
			if at < 0 {
				all = append(all, u)
				continue
			}
			all[at].Records += u.Records
			if u.Since.Before(all[at].Since) {
				all[at].Since = u.Since
			}
		}
	}
	var out []trouble
	for _, u := range all {
		lasts := now.Sub(u.Since)
		if lasts < unsettledTold {
			continue
		}
		out = append(out, trouble{
			About: "unsettled " + u.Outbox, Bad: lasts >= unsettledBad, When: "It began", Since: u.Since, Path: "/lanes", LinkText: "Lanes",
			What: fmt.Sprintf("Firestore has taken no commit of %s: what became of %s here is not written down.", u.Outbox, howMany(u.Records, "record", "records")),
			Do:   "see the playbook RelayOutboxUnsettled. They are tried again by themselves; do not restart the instance meanwhile, or what is delivered comes twice",
		})
	}
	return out
}
