package admin

import (
	"time"

	"outboxrelay/contracts"
)

// Status tells how this instance does. Its methods look at memory alone.
type Status interface {
	Lanes() []LaneStatus
	Outboxes() []OutboxStatus
}

// LaneStatus is one lane of this instance.
type LaneStatus struct {
	Lane       contracts.Lane
	SLA        time.Duration
	PausedHere bool // this instance obeys a pause
	Queued     int
	InFlight   int
	Waiting    int           // for a retry, their own or an older record's
	Delivered  int64         // since the start
	Breaches   int64         // delivered later than the SLA, since the start
	P50, P99   time.Duration // of the lag; 0: not known
}

// OutboxStatus is one outbox, as this instance sees it.
type OutboxStatus struct {
	Outbox     string           `json:"outbox" example:"accOutbox" doc:"The collection."`
	Slice      string           `json:"slice" example:"account" doc:"The domain slice that appends to it."`
	Owner      string           `json:"owner,omitempty" example:"relay-7c9f" doc:"The instance that relays it; left out where there is no lease."`
	Ready      bool             `json:"ready" doc:"Every listener is proven alive."`
	InMemory   int              `json:"inMemory" doc:"Records that this instance holds."`
	LeftBehind int              `json:"leftBehind" doc:"Records that wait in Firestore behind targets that are down, or behind failing aggregates."`
	Pending    *int64           `json:"pending,omitempty" doc:"Pending records in Firestore at the last sweep; left out before the first."`
	SweptAt    time.Time        `json:"sweptAt,omitzero" doc:"When it was swept last."`
	Listeners  []ListenerStatus `json:"listeners" nullable:"false"`
}

// ListenerStatus is one listener of an outbox.
type ListenerStatus struct {
	Listener     string    `json:"listener" example:"CRITICAL_LANE" doc:"Its lane, or strays."`
	State        string    `json:"state" example:"alive" doc:"starting, alive, rebuilding, or paging: closed while pages are read."`
	ProvenAt     time.Time `json:"provenAt,omitzero" doc:"When its canary came back last."`
	CanaryMillis int64     `json:"canaryMillis" doc:"The canary's round trip."`
	Rebuilds     int       `json:"rebuilds" doc:"How often it was rebuilt."`
	LastReason   string    `json:"lastReason,omitempty" doc:"Why it was rebuilt last."`
}
