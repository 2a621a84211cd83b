package requirements

import (
	"outboxrelay/claims"
	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
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
	out = append(out, ofQueues...)
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

// ofQueues are those of the work queues. Those of the notifications stand beneath each
// clients/{clientId}/condominiums/{condominiumId}.
var ofQueues = []Collection{
	{Name: outbox.DomainEvents, Purpose: "jobs: domain events, which producers emit"},
	{Name: outbox.Jobs, Purpose: "jobs: the job outbox"},
	{Name: jobs.InAppMessages, Purpose: "jobs: messages of channel in_app"},
	{Name: notifications.CollectionEvents, Purpose: "notifications: events, which front ends create"},
	{Name: notifications.CollectionQueue, Purpose: "notifications: whom an event is for, and who has it"},
	{Name: notifications.CollectionBells, Purpose: "notifications: a person's bell, beneath users"},
	{Name: notifications.CollectionDeadLetters, Purpose: "notifications: events that failed"},
	{Name: notifications.CollectionDedupe, Purpose: "notifications: markers of dedupe keys"},
	{Name: notifications.CollectionStats, Purpose: "notifications: figures by the hour"},
	{Name: notifications.CollectionUsers, Purpose: "notifications: the people of a condominium, read alone; jobs: addresses for channel email"},
}
