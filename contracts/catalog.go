package contracts

import (
	"cmp"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Catalog holds everything about lanes, outboxes, events and targets that is
// data rather than code. It is immutable once loaded.
type Catalog struct {
	Lanes    map[Lane]LanePolicy
	Targets  map[string]TargetSpec
	Outboxes []*Outbox // in the order of the file
	Retry    RetryPolicy
	Replay   ReplayPolicy
	// Templates are the texts of the messages that jobs are about, by their IDs; nil: none.
	Templates map[string]Template
	// JobsTopic is where jobs of channel pubsub go; "": nowhere. It is no part of the file.
	JobsTopic string
	Warnings  []string // "file:line: what may surprise"
	// SchemaFiles holds the text of every file that a schema of Outboxes is in or
	// refers to, by its path below the catalog's directory.
	SchemaFiles map[string][]byte
}

// LanePolicy is one lane's character.
type LanePolicy struct {
	SLA          time.Duration // append to acknowledged delivery
	Workers      int           // aggregates delivered at the same time, reserved for this lane
	Run          int           // records of one aggregate handed to a worker at once
	Window       int           // documents in a listener's window
	InFlight     int           // records of one outbox in memory at most
	InFlightMiB  int           // what the records of all outboxes in memory take up at most in one instance, about; those that wait for a retry apart
	SettleLinger time.Duration // how long a delivered record waits for company before it is marked, which its lag does not count; 0: none
}

// TargetKind is how a target is reached.
type TargetKind string

// The kinds of target.
const (
	KindPubSub  TargetKind = "pubsub"  // a Pub/Sub topic
	KindHandler TargetKind = "handler" // in process, registered by name at start
)

// TargetSpec is one target of the catalog.
type TargetSpec struct {
	Name  string
	Kind  TargetKind
	Topic string // KindPubSub only: topic ID without its project
	// RatePerSecond bounds a handler's calls to what it stands for; 0 for
	// KindPubSub. What is a call is the handler's to say.
	RatePerSecond float64
}

// OnDelivered is what happens to a record's document once all targets have it.
type OnDelivered string

// The two ends of a delivered record's document.
const (
	MarkDelivered   OnDelivered = "mark"   // kept as delivered, with expireAt
	DeleteDelivered OnDelivered = "delete" // removed
)

// Outbox is one outbox collection and the events it may hold.
type Outbox struct {
	Name        string
	Slice       string // the producer that owns it; default of a record's producer
	OnDelivered OnDelivered
	Retention   time.Duration // expireAt is this long after delivery
	Shards      int           // 1 or more; with several, its producers write a shard into each record
	Events      []*EventRoute // those of everyOutbox included, exact types before patterns
}

// EventRoute says what happens to events of one type, or of one pattern, in one
// version of their payload. Versions of one type stand side by side while their
// consumers move from one to the next. They have lane, tier, twoPersonRule and
// revokeTokens in common.
type EventRoute struct {
	Type    string // exact, or a pattern in which '*' matches any run of characters, also none
	Version int64  // version of the payload contract; 0: any
	// DeprecatedOn is the day, at midnight UTC, since which producers and consumers
	// are asked to leave this version; zero: they are not. It is delivered as before.
	DeprecatedOn time.Time
	// Consumers names who acts on this version; of the others that its targets
	// reach it asks nothing. Sorted; empty: the catalog does not say.
	Consumers []string
	Lane      Lane
	Tier      Tier
	Targets   []string
	// TwoPersonRule asks that a SECURITY_BLOCK dead letter is replayed by
	// another person than the one who authorized it.
	TwoPersonRule bool
	// RevokeTokens asks the handler among Targets to revoke the account's
	// refresh tokens when an event takes rights away. False where none is.
	RevokeTokens bool
	Key          KeyTemplate // of the idempotencyKey; "": DefaultKey
	Aggregate    KeyTemplate // of the aggregateId; "": it is the producer's to choose
	SchemaName   string      // "" when the payload is not checked
	Schema       *jsonschema.Schema
}

// RetryPolicy bounds the attempts before a record is dead-lettered.
type RetryPolicy struct {
	MaxAttempts int           // the failure with this number dead-letters
	Initial     time.Duration // backoff before the second attempt, before jitter
	Max         time.Duration
	Multiplier  float64
}

// Outbox returns the outbox of that name, or nil.
func (c *Catalog) Outbox(name string) *Outbox {
	for _, o := range c.Outboxes {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Route returns how eventType travels in its newest version, or nil when the
// outbox does not declare it. An exact type wins over a pattern, a longer pattern
// over a shorter one.
func (o *Outbox) Route(eventType string) *EventRoute {
	var best *EventRoute
	for _, e := range o.Events {
		switch {
		case !isPattern(e.Type):
			switch {
			case e.Type != eventType:
			case best == nil || isPattern(best.Type):
				best = e
			default:
				best = newer(best, e)
			}
		case best != nil && !isPattern(best.Type), !matchPattern(e.Type, eventType):
		case best == nil || len(e.Type) > len(best.Type):
			best = e
		case e.Type == best.Type:
			best = newer(best, e)
		}
	}
	return best
}

func newer(a, b *EventRoute) *EventRoute {
	if b.Version > a.Version {
		return b
	}
	return a
}

// RouteOf returns how events of a type travel in one version, or nil when the
// outbox does not declare that version of it.
func (o *Outbox) RouteOf(eventType string, version int64) *EventRoute {
	newest := o.Route(eventType)
	if newest == nil || newest.Version == version || newest.Version == 0 {
		return newest
	}
	for _, e := range o.Events {
		if e.Type == newest.Type && e.Version == version {
			return e
		}
	}
	return nil
}

// Versions lists how events of a type travel in each version that the outbox
// declares, oldest first: those in which its producer publishes an event while
// consumers move.
func (o *Outbox) Versions(eventType string) []*EventRoute {
	newest := o.Route(eventType)
	if newest == nil {
		return nil
	}
	var out []*EventRoute
	for _, e := range o.Events {
		if e.Type == newest.Type {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *EventRoute) int { return cmp.Compare(a.Version, b.Version) })
	return out
}

// hasHandler reports whether one of e's targets is a handler.
func (c *Catalog) hasHandler(e *EventRoute) bool {
	return slices.ContainsFunc(e.Targets, func(name string) bool { return c.Targets[name].Kind == KindHandler })
}

// Lanes lists the lanes that the outbox's events declare, most urgent first.
func (o *Outbox) Lanes() []Lane {
	var out []Lane
	for _, l := range Lanes() {
		if slices.ContainsFunc(o.Events, func(e *EventRoute) bool { return e.Lane == l }) {
			out = append(out, l)
		}
	}
	return out
}
