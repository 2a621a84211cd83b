package admin

import (
	"time"

	"outboxrelay/contracts"
)

// Status tells how this instance does. Its methods look at memory alone.
type Status interface {
	Lanes() []LaneStatus
	Outboxes() []OutboxStatus
	Targets() []TargetStatus
	// QueueOwner is the instance that does for the dead-letter queue what only
	// one may; "" where there are no leases.
	QueueOwner() string
	Instance() InstanceStatus
}

// InstanceStatus is the instance that answers.
type InstanceStatus struct {
	Name     string // "" where there are no leases
	Stopping bool
}

// LaneStatus is one lane of this instance.
type LaneStatus struct {
	Lane       contracts.Lane
	SLA        time.Duration
	PausedHere bool // this instance obeys a pause
	// PausedBy, PausedAt and PauseReason are whose pause it obeys, as far as it knows.
	PausedBy    string
	PausedAt    time.Time
	PauseReason string
	Queued      int
	InFlight    int
	Waiting     int           // for a retry, their own or an older record's
	Unsettled   []Unsettled   // nil: Firestore answers
	Overdue     int           // of these three, past the SLA now
	Oldest      time.Time     // when the oldest of them was appended; zero: there is none
	Received    int64         // taken into memory since the start; one that is taken again counts again
	Delivered   int64         // since the start
	Breaches    int64         // delivered later than the SLA, since the start
	P50, P99    time.Duration // of the lag in the last minute; 0: not known
}

// TargetStatus is one target, as this instance sees it.
type TargetStatus struct {
	Target   string
	State    string // of its breaker: closed, half-open or open
	Since    time.Time
	Reason   string // the code of the last outage; "" while it answers
	Error    string // its text
	Failures int    // outages in a row
	Waiting  []TargetWaiting
}

// TargetWaiting is what waits for a target that is out.
type TargetWaiting struct {
	Outbox  string `json:"outbox" example:"wsOutbox"`
	Records int    `json:"records" example:"12"`
}

// OutboxStatus is one outbox, or one shard of it, as this instance sees it.
type OutboxStatus struct {
	Outbox     string           `json:"outbox" example:"accOutbox" doc:"The collection."`
	Shard      int              `json:"shard" doc:"From 0; 0 of an outbox that has one."`
	Shards     int              `json:"shards" example:"1" doc:"Shards of the outbox."`
	Slice      string           `json:"slice" example:"account" doc:"The domain slice that appends to it."`
	Owner      string           `json:"owner,omitempty" example:"relay-7c9f" doc:"The instance that relays it; left out while nobody does."`
	Since      time.Time        `json:"since,omitzero" doc:"Since when."`
	Lease      string           `json:"lease,omitempty" example:"held" doc:"held; lapsed: ours, but not renewed in time, so that deliveries wait; expired: its owner does not renew it; free."`
	Here       bool             `json:"here" doc:"The instance that answers is its owner. Of others it tells what they said with the last renewal of the lease, and nothing of their listeners."`
	Ready      bool             `json:"ready" doc:"Its lease is held, and every listener is proven alive."`
	InMemory   int              `json:"inMemory" doc:"Records that its owner holds in memory."`
	LeftBehind int              `json:"leftBehind" doc:"Records that wait in Firestore behind targets that are down, or behind failing aggregates."`
	Pending    *int64           `json:"pending,omitempty" doc:"Pending records in Firestore at the last sweep; left out before the first."`
	Retrying   *int64           `json:"retrying,omitempty" doc:"Records in backoff in Firestore at the last sweep; left out before the first."`
	Unattended int64            `json:"unattended" doc:"Of those, the ones that were due and that no instance waited for: left so by an owner before, or appended so. The sweep takes them."`
	SweptAt    time.Time        `json:"sweptAt,omitzero" doc:"When it was swept last."`
	Listeners  []ListenerStatus `json:"listeners" nullable:"false"`
}

// ListenerStatus is one listener of an outbox.
type ListenerStatus struct {
	Listener     string    `json:"listener" example:"CRITICAL_LANE" doc:"Its lane, or strays."`
	State        string    `json:"state" example:"alive" doc:"starting, alive, rebuilding, unproven: no proof that it lives for more than a minute, or paging: closed while pages are read."`
	ProvenAt     time.Time `json:"provenAt,omitzero" doc:"When its canary came back last."`
	CanaryMillis int64     `json:"canaryMillis" doc:"The canary's round trip."`
	Rebuilds     int       `json:"rebuilds" doc:"How often it was rebuilt."`
	LastReason   string    `json:"lastReason,omitempty" doc:"Why it was rebuilt last."`
}
