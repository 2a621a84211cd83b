package contracts

// Reason says why a record was dead-lettered.
type Reason string

// The reasons of a dead letter.
const (
	AttemptsExhausted   Reason = "ATTEMPTS_EXHAUSTED"
	ContractViolation   Reason = "CONTRACT_VIOLATION"
	PermanentFailure    Reason = "PERMANENT_FAILURE"
	ClaimsRefreshFailed Reason = "CLAIMS_REFRESH_FAILED"
	// Restored: it was waiting when Firestore was exported, so that nobody knows
	// whether it was delivered after that. Only `outbox-relay restore` says so.
	Restored Reason = "RESTORED"
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{AttemptsExhausted, ContractViolation, PermanentFailure, ClaimsRefreshFailed, Restored}
}

// DeadState is where a dead letter stands.
type DeadState string

// The states of a dead letter.
const (
	DeadScheduled      DeadState = "scheduled"       // SAFE_AUTO: its next replay has a time
	DeadAwaitingReview DeadState = "awaiting_review" // REVIEW_REQUIRED: waits for an operator
	DeadBlocked        DeadState = "blocked"         // SECURITY_BLOCK: waits for an authorization
	DeadAuthorized     DeadState = "authorized"      // SECURITY_BLOCK: may be replayed
	DeadReplayed       DeadState = "replayed"        // delivered after all
	DeadDiscarded      DeadState = "discarded"       // given up by an operator
)

// FirstState returns the state in which a dead letter of tier t starts.
func (t Tier) FirstState() DeadState {
	switch t {
	case SafeAuto:
		return DeadScheduled
	case SecurityBlock:
		return DeadBlocked
	default:
		return DeadAwaitingReview
	}
}

// Collections that the service writes. None of them can be an outbox.
const (
	CollectionDeadLetters     = "dead-letter-queue"
	CollectionFrozen          = "frozen-entities"
	CollectionErrorLog        = "domain-error-log"
	CollectionRefreshSignals  = "token-refresh-signals"
	CollectionClaimsSnapshots = "claims-snapshots" // one for each account, merged from its events
	CollectionAudit           = "audit-log"        // one document for each decision
	CollectionGroups          = "dlq-groups"       // one for each event type and normalised error
	CollectionReplays         = "bulk-replays"     // bulk replays; their pinned items are documents below them
	CollectionLaneControl     = "lane-control"     // one for each lane that was ever paused
	CollectionLeases          = "relay-leases"     // who owns which share, and the instances that run
)

// Collections lists the service's own collections.
func Collections() []string {
	return []string{
		CollectionDeadLetters, CollectionFrozen, CollectionErrorLog, CollectionRefreshSignals, CollectionClaimsSnapshots,
		CollectionAudit, CollectionGroups, CollectionReplays, CollectionLaneControl, CollectionLeases,
	}
}

// Topics of the service's own, beside those of the targets.
const (
	TopicMetrics       = "domain-metrics"
	TopicErrors        = "domain-errors"
	TopicRefreshSignal = "token-refresh-signal"
)

// Names of a dead letter's fields in Firestore. Those that it shares with a
// record (eventId, traceId, lane, attempts, ...) have the record's names.
const (
	DeadFieldTier           = "tier"
	DeadFieldOriginalTier   = "originalTier"
	DeadFieldState          = "state"
	DeadFieldReason         = "reason"
	DeadFieldOutbox         = "outbox"
	DeadFieldRecordPath     = "recordPath"
	DeadFieldRecord         = "record"
	DeadFieldPendingTargets = "pendingTargets"
	DeadFieldErrors         = "errors"
	DeadFieldDeadAt         = "deadAt"
	DeadFieldReplays        = "replays"
	DeadFieldNextReplayAt   = "nextReplayAt"
	DeadFieldDecisions      = "decisions"
	DeadFieldOpen           = "open"          // false once it was replayed or discarded
	DeadFieldGroup          = "group"         // ID of its event type and normalised error
	DeadFieldReplaying      = "replaying"     // the replay that was asked for and has not ended
	DeadFieldLastReplay     = "lastReplay"    // how the last one ended
	DeadFieldAuthorizedBy   = "authorizedBy"  // SECURITY_BLOCK: who authorized its replay
	DeadFieldConsumer       = "consumer"      // who could not handle it; absent: it could not be delivered
	DeadFieldRecordTrimmed  = "recordTrimmed" // its record lacks its payload, which stands in the outbox, and in record.envelope where that is
	// DeadFieldRelayTraceparent names the span in which it was buried, if that was sampled.
	DeadFieldRelayTraceparent = "relayTraceparent"
)
