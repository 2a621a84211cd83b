package requirements

import (
	"outboxrelay/claims"
	"outboxrelay/contracts"
)

// Collection is a collection that the service reads or writes.
type Collection struct {
	Name    string `json:"name"`
	Purpose string `json:"purpose"`
	Outbox  bool   `json:"outbox"` // the catalog's, where producers append
}

func collectionsOf(catalog *contracts.Catalog) []Collection {
	var out []Collection
	for _, o := range catalog.Outboxes {
		out = append(out, Collection{Name: o.Name, Purpose: "outbox of " + o.Slice, Outbox: true})
	}
	for _, name := range contracts.Collections() {
		out = append(out, Collection{Name: name, Purpose: purposes[name]})
	}
	if hasHandler(catalog) {
		out = append(out, Collection{Name: claims.CollectionAccounts, Purpose: "the project's accounts, read where an event carries no claims"})
	}
	return out
}

var purposes = map[string]string{
	contracts.CollectionDeadLetters:     "dead letters",
	contracts.CollectionFrozen:          "frozen aggregates",
	contracts.CollectionErrorLog:        "alerts of SECURITY_BLOCK",
	contracts.CollectionRefreshSignals:  "token refresh signals, which clients listen to",
	contracts.CollectionClaimsSnapshots: "claims of each account",
	contracts.CollectionAudit:           "decisions of operators",
	contracts.CollectionGroups:          "dead letters grouped by event type and error",
	contracts.CollectionReplays:         "bulk replays",
	contracts.CollectionLaneControl:     "paused lanes",
	contracts.CollectionLeases:          "leases of the relay's instances",
}
