package notifications

import (
	"strings"

	"cloud.google.com/go/firestore"

	"outboxrelay/relay/workqueue"
)

// Queue is the queue's name in metrics, logs and commands.
const Queue = "notifications"

// Config is what a queue of events runs with; the caller adds Tuning, Metrics, Tracer and
// Log.
func (h *Handler) Config() workqueue.Config {
	return workqueue.Config{Client: h.client, Vocabulary: h.Vocabulary(), Handler: h, WorkerPrefix: h.settings.WorkerIDPrefix}
}

// Vocabulary is what events look like.
func (h *Handler) Vocabulary() workqueue.Vocabulary {
	return workqueue.Vocabulary{
		Queue:      Queue,
		Collection: CollectionEvents,
		Group:      true,
		Fields: workqueue.Fields{
			Status: fieldStatus, CreatedAt: fieldCreatedAt, Attempts: fieldAttempts, Due: fieldNextRetryAt,
			LockUntil: fieldLockUntil, Owner: fieldWorkerID, LastError: fieldLastError, LastErrorCode: fieldLastErrorCode,
		},
		Pending:     StatusPending,
		Processing:  StatusProcessing,
		Counts:      workqueue.AtClaim,
		Term:        h.settings.Lock,
		MaxAttempts: h.settings.MaxRetries,
		Backoff:     h.settings.Backoff,
		Tenant:      tenantOfPath,
		Dead:        h.dead,
		Outcomes:    []string{string(Emitted), string(Deduped), string(Failed)},
	}
}

// tenantOfPath names the tenant of an event: what its path says before the collection.
func tenantOfPath(path string) (name, last string) {
	parent, _ := cutLast(path)
	name, _ = cutLast(parent)
	if tenant, err := tenantIn(path); err == nil {
		name = tenant.String()
	}
	// Of all IDs, this one is the last.
	return name, parent + "/" + strings.Repeat("\U0010FFFF", 1500/4)
}

// cutLast cuts a path before its last segment.
func cutLast(path string) (before, last string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return path, ""
}

// relative is a document's path below the database.
func relative(ref *firestore.DocumentRef) string {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return path
}
