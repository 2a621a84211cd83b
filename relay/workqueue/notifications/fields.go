package notifications

// Collections beneath a condominium. Those of the bell, collectionBells, are beneath
// each person of collectionUsers.
const (
	CollectionEvents      = "notificationEvents"
	CollectionQueue       = "notificationQueue"
	CollectionDeadLetters = "notificationDeadLetters"
	CollectionDedupe      = "notificationDedupe"
	CollectionStats       = "notificationStats"
	CollectionUsers       = "users"
	CollectionBells       = "notifications"
)

// Statuses of an event.
const (
	StatusPending    = "pending_dispatch"
	StatusProcessing = "processing"
	StatusEmitted    = "emitted"
	StatusFailed     = "failed"
)

// statusDispatched is that of a queue document from the beginning: the recipients stand.
const statusDispatched = "dispatched"

// worker signs what is written for an event.
const worker = "notification-worker"

// channelInApp is the one channel that there is.
const channelInApp = "in_app"

// Fields of events that the producer writes. Queue documents and notifications share names.
const (
	fieldEventType     = "eventType"
	fieldModule        = "module"
	fieldPriority      = "priority"
	fieldTitle         = "title"
	fieldBody          = "body"
	fieldDedupeKey     = "dedupeKey"
	fieldChannels      = "channels"
	fieldAudience      = "audience"
	fieldScope         = "scope"
	fieldUserIDs       = "userIds"
	fieldEntityID      = "entityId"
	fieldEntityType    = "entityType"
	fieldMetadata      = "metadata"
	fieldCreatedAt     = "createdAt"
	fieldCreatedBy     = "createdBy"
	fieldStatus        = "status"
	fieldClientID      = "clientId"
	fieldCondominiumID = "condominiumId"
)

// Fields of events that the worker writes.
const (
	fieldAttempts      = "attempts"
	fieldLockUntil     = "lockUntil"
	fieldNextRetryAt   = "nextRetryAt"
	fieldProcessedAt   = "processedAt"
	fieldLastError     = "lastError"
	fieldLastErrorCode = "lastErrorCode"
	fieldWorkerID      = "workerId"
	fieldQueueID       = "queueId"
)

// Fields of queue documents, notifications, dead letters and markers.
const (
	fieldSourceEventID    = "sourceEventId"
	fieldSourceQueueID    = "sourceQueueId"
	fieldRecipients       = "recipients"
	fieldRecipientsCount  = "recipientsCount"
	fieldWritten          = "notificationsWritten" // of the recipients, in their order
	fieldDispatchedAt     = "dispatchedAt"
	fieldDispatchedBy     = "dispatchedBy"
	fieldRead             = "read"
	fieldReadAt           = "readAt"
	fieldPayloadSnapshot  = "payloadSnapshot"
	fieldPayloadTruncated = "payloadTruncated"
	fieldErrorCode        = "errorCode"
	fieldErrorMessage     = "errorMessage"
	fieldExpireAt         = "expireAt"
)

// Fields of people.
const (
	fieldRole   = "role"
	fieldActive = "active"
)
