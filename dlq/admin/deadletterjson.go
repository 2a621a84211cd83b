package admin

import (
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// DeadLetter is one dead letter without its record.
type DeadLetter struct {
	ID               string              `json:"id" example:"7f0c:acc-1:3" doc:"The idempotency key, escaped where Firestore forbids a character."`
	Tier             contracts.Tier      `json:"tier" enum:"SAFE_AUTO,REVIEW_REQUIRED,SECURITY_BLOCK" doc:"What may be done with it."`
	OriginalTier     contracts.Tier      `json:"originalTier" doc:"The tier in which it started: under which it died. That of a violation of the contract is REVIEW_REQUIRED at the least, whatever the event's own; of one that was restored it is the event's own."`
	State            contracts.DeadState `json:"state" enum:"scheduled,awaiting_review,blocked,authorized,replayed,discarded" doc:"Where it stands."`
	Open             bool                `json:"open" doc:"It was neither replayed nor discarded."`
	Reason           contracts.Reason    `json:"reason" example:"ATTEMPTS_EXHAUSTED" doc:"Why it was dead-lettered."`
	Outbox           string              `json:"outbox" example:"accOutbox" doc:"The collection of its record."`
	RecordPath       string              `json:"recordPath" example:"accOutbox/7f0c:acc-1:3" doc:"The document of its record."`
	EventID          string              `json:"eventId" example:"7f0c" doc:"As in the record, as all below up to lane."`
	EventType        string              `json:"eventType" example:"WalletDeducted"`
	TraceID          string              `json:"traceId" example:"trace-1"`
	IdempotencyKey   string              `json:"idempotencyKey" example:"7f0c:acc-1:3"`
	AggregateID      string              `json:"aggregateId" example:"acc-1"`
	AggregateVersion *int64              `json:"aggregateVersion" example:"3" doc:"null where its record has no sound one."`
	Lane             contracts.Lane      `json:"lane" example:"CRITICAL_LANE"`
	PendingTargets   []string            `json:"pendingTargets" nullable:"false" example:"[\"FUNNEL_CRITICAL\"]" doc:"Targets that did not acknowledge it."`
	Consumer         string              `json:"consumer,omitempty" example:"notifications" doc:"The consumer that could not handle it, and to which alone a replay goes; left out where it could not be delivered."`
	Errors           []Attempt           `json:"errors" nullable:"false" doc:"Failed attempts, replays among them: the first 10 and the last 40."`
	Attempts         int                 `json:"attempts" example:"3" doc:"Failed deliveries, replays apart."`
	DeadAt           time.Time           `json:"deadAt" doc:"When it was dead-lettered."`
	Replays          int                 `json:"replays" doc:"Replays that ended."`
	NextReplayAt     time.Time           `json:"nextReplayAt,omitzero" doc:"When it is replayed: by its schedule, or because somebody asked."`
	Decisions        []Decision          `json:"decisions" nullable:"false" doc:"What was decided about it: the first 10 and the last 40."`
	Group            string              `json:"group" doc:"Its event type and error; see GET /dlq/groups."`
	Replaying        *ReplayRequest      `json:"replaying,omitempty" doc:"The replay that somebody asked for and that has not ended."`
	LastReplay       *ReplayEnd          `json:"lastReplay,omitempty" doc:"How the last replay ended."`
	AuthorizedBy     string              `json:"authorizedBy,omitempty" example:"bob@example.com" doc:"SECURITY_BLOCK: who authorized its replay."`
	UpdateTime       time.Time           `json:"updateTime" doc:"When it was changed last."`
	ETag             string              `json:"etag" example:"\"1d3k\"" doc:"For If-Match: a decision made with it is refused (412) when the dead letter was changed since."`
}

// Attempt is one failed delivery.
type Attempt struct {
	Time    time.Time `json:"time"`
	Attempt int       `json:"attempt" example:"3" doc:"1 is the first."`
	Target  string    `json:"target" example:"FUNNEL_CRITICAL"`
	Code    string    `json:"code" example:"Internal" doc:"The reason as one word."`
	Message string    `json:"message" example:"the topic refuses the message"`
}

// Decision is one line of a dead letter's history.
type Decision struct {
	ID     string     `json:"id" doc:"Of its audit entry."`
	Action dlq.Action `json:"action" example:"replay" doc:"replay, discard, authorize or note; exhausted where its automatic replays came to an end."`
	By     string     `json:"by" example:"alice@example.com" doc:"Who; relay for the service itself."`
	At     time.Time  `json:"at"`
	Reason string     `json:"reason" example:"the consumer was mended"`
}

// ReplayRequest is a replay that was asked for.
type ReplayRequest struct {
	ID     string    `json:"id" doc:"Of the decision."`
	By     string    `json:"by" example:"alice@example.com"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason" example:"the consumer was mended"`
	Bulk   string    `json:"bulk,omitempty" doc:"The bulk replay that it is part of."`
	Waits  *Waits    `json:"waits,omitempty" doc:"What it was found to wait for when it was its turn; left out while nothing is known."`
}

// Waits is what a replay waits for.
type Waits struct {
	Targets []string `json:"targets,omitempty" nullable:"false" example:"[\"FUNNEL_CRITICAL\"]" doc:"That are out."`
	Behind  string   `json:"behind,omitempty" example:"7f0c:acc-1:2" doc:"The older dead letter of its aggregate that comes first."`
}

func requestOf(r *dlq.Request) *ReplayRequest {
	out := &ReplayRequest{ID: r.ID, By: r.By, At: r.At, Reason: r.Reason, Bulk: r.Bulk}
	if w := r.Waits; w.Tells() {
		out.Waits = &Waits{w.Targets, w.Behind}
	}
	return out
}

// ReplayEnd is how a replay ended.
type ReplayEnd struct {
	ID      string    `json:"id" doc:"Of the audit entry that tells of its end."`
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome" enum:"delivered,failed"`
	Request string    `json:"request,omitempty" doc:"The decision that asked for it; left out where the schedule did."`
	Bulk    string    `json:"bulk,omitempty" doc:"The bulk replay that it was part of."`
	By      string    `json:"by,omitempty" doc:"Who asked for it."`
}

// LastFailure is its last failed attempt, as contracts.LastFailure tells it; ok is false
// when there is none.
func (d *DeadLetter) LastFailure() (last Attempt, ok bool) {
	errs := make([]contracts.AttemptError, len(d.Errors))
	for n, e := range d.Errors {
		errs[n] = contracts.AttemptError{At: e.Time, Attempt: e.Attempt, Target: e.Target, Code: e.Code, Message: e.Message}
	}
	e, ok := contracts.LastFailure(errs)
	return Attempt{e.At, e.Attempt, e.Target, e.Code, e.Message}, ok
}

// versionOf is the version of an item's aggregate; nil where its record has no sound one.
func versionOf(i *dlq.Item) *int64 {
	if i.Versionless {
		return nil
	}
	return &i.AggregateVersion
}

func deadLetterOf(i *dlq.Item) DeadLetter {
	d := DeadLetter{
		ID: i.ID, Tier: i.Tier, OriginalTier: i.OriginalTier, State: i.State, Open: dlq.Open(i.State), Reason: i.Reason,
		Outbox: i.Outbox, RecordPath: i.RecordPath, EventID: i.EventID, EventType: i.EventType, TraceID: i.TraceID,
		IdempotencyKey: i.IdempotencyKey, AggregateID: i.AggregateID, AggregateVersion: versionOf(i), Lane: i.Lane,
		PendingTargets: append([]string{}, i.PendingTargets...), Errors: make([]Attempt, len(i.Errors)), Attempts: i.Attempts,
		DeadAt: i.DeadAt, Replays: i.Replays, NextReplayAt: i.NextReplayAt, Decisions: make([]Decision, len(i.Decisions)), Group: i.Group,
		Consumer: i.Consumer, AuthorizedBy: i.AuthorizedBy, UpdateTime: i.UpdateTime, ETag: etag(i.UpdateTime),
	}
	for n, e := range i.Errors {
		d.Errors[n] = Attempt{e.At, e.Attempt, e.Target, e.Code, e.Message}
	}
	for n, x := range i.Decisions {
		d.Decisions[n] = Decision{x.ID, x.Action, x.By, x.At, x.Reason}
	}
	if r := i.Replaying; r != nil {
		d.Replaying = requestOf(r)
	}
	if e := i.LastReplay; e != nil {
		outcome := string(dlq.Failed)
		if e.Delivered {
			outcome = string(dlq.Delivered)
		}
		d.LastReplay = &ReplayEnd{ID: e.ID, At: e.At, Outcome: outcome, Request: e.Request, Bulk: e.Bulk, By: e.By}
	}
	return d
}
