package dlq

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// BulkState is where a bulk replay stands.
type BulkState string

// The states of a bulk replay.
const (
	BulkRunning   BulkState = "running"
	BulkDone      BulkState = "done"      // every item of it has ended or was passed over
	BulkStopped   BulkState = "stopped"   // too many failed, or nobody relays any of it
	BulkCancelled BulkState = "cancelled" // by a person
)

// Ended reports whether a bulk replay in that state asks for nothing more. A state that this
// version does not know, as a newer one wrote it that was rolled back, is no end.
func (s BulkState) Ended() bool { return s == BulkDone || s == BulkStopped || s == BulkCancelled }

// Known reports whether this version knows what the state means. A bulk replay in any other
// is left as it is, for a version that does.
func (s BulkState) Known() bool { return s == BulkRunning || s.Ended() }

// The phases of a bulk replay.
const (
	PhaseCanary = "canary" // the first few, before all others
	PhaseRamp   = "ramp"   // the rest, ever faster up to its rate
)

// Bulk is a bulk replay: a selection that was pinned when it was made, and how
// far it has got. Its numbers count pinned items and add up to Total.
type Bulk struct {
	ID            string
	State         BulkState
	Phase         string // the last, once it has ended
	Filter        Filter
	Picked        bool // it was told its dead letters one by one: Filter is empty
	RatePerSecond float64
	By            Actor
	Reason        string
	CreatedAt     time.Time
	EndedAt       time.Time
	EndReason     string // in words
	CancelledBy   string
	Total         int // pinned items
	Delivered     int
	Failed        int
	Skipped       int            // not what was pinned any more, behind an older one that failed, or of an outbox that nobody relays
	SkippedFor    map[string]int // these by the reason in words
	Replaying     int            // asked for and not ended
	Waiting       int            // not asked for yet
	HeldFor       map[string]int // of these and of Replaying those that cannot go on now, by the reason in words
	FailedIDs     []string       // the first of those that failed, MaxFailedIDs at most
	UpdateTime    time.Time

	Pinned string // names where its pinned items stand
	Order  string // of one that a request with a key started: hash of what was ordered
}

// ReasonsInWords tells Bulk.SkippedFor or Bulk.HeldFor in words; "" where there is nothing to tell.
func ReasonsInWords(reasons map[string]int) string {
	var out []string
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		out = append(out, fmt.Sprintf("%d: %s", reasons[why], why))
	}
	return strings.Join(out, "; ")
}

// MaxFailedIDs is how many of its failed dead letters a bulk replay names.
const MaxFailedIDs = 50

// MaxBulkRate is the fastest that a bulk replay may ask for, in items a second.
const MaxBulkRate = 1000

// BulkRequest asks for a bulk replay.
type BulkRequest struct {
	Filter        Filter
	IDs           []string // these dead letters, instead of what a filter matches
	Pin           string   // of the Selection that was looked at: nothing else is replayed; "": whatever is found now
	Key           string   // the actor's own: sent again, the same request starts nothing more; ""
	RatePerSecond float64  // 0: the catalog's replay rate; at most MaxBulkRate
	Actor         Actor
	Reason        string // may be left out
}

// Names of a bulk replay's fields in Firestore.
const (
	bulkState       = "state"
	bulkPhase       = "phase"
	bulkFilter      = "filter"
	bulkRateField   = "ratePerSecond"
	bulkBy          = "by"
	bulkRole        = "role"
	bulkReason      = "reason"
	bulkCreatedAt   = "createdAt"
	bulkEndedAt     = "endedAt"
	bulkEndReason   = "endReason"
	bulkCancelledBy = "cancelledBy"
	bulkCancel      = "cancel" // ID of the decision that cancelled it
	bulkTotal       = "total"
	bulkDelivered   = "delivered"
	bulkFailed      = "failed"
	bulkSkipped     = "skipped"
	bulkSkippedFor  = "skippedFor"
	bulkReplaying   = "replaying"
	bulkHeldFor     = "heldFor"
	bulkWaiting     = "waiting"
	// bulkSettled is false until nothing that it asked for is under way any more:
	// one that was cancelled is followed until then.
	bulkSettled   = "settled"
	bulkPicked    = "picked"
	bulkFailedIDs = "failedIds"
	bulkPinned    = "pinned" // names where its pinned items stand; left out: its own ID
	bulkOrder     = "order"  // of one with a key: hash of what was ordered
)

// created renders a new bulk replay as its document.
func (b *Bulk) created() (map[string]any, error) {
	filter, err := filterFields(b.Filter)
	if err != nil {
		return nil, err
	}
	f := b.progress()
	maps.Copy(f, map[string]any{
		bulkState: string(b.State), bulkFilter: filter, bulkRateField: b.RatePerSecond, bulkBy: b.By.Name, bulkRole: b.By.Role.String(),
		bulkReason: b.Reason, bulkCreatedAt: ServerTime{}, bulkTotal: b.Total, bulkSettled: false, bulkPicked: b.Picked,
		bulkPinned: b.Pinned, bulkOrder: b.Order,
	})
	return f, nil
}

// progress renders the fields that change while it runs.
func (b *Bulk) progress() map[string]any {
	return map[string]any{
		bulkSkippedFor: reasonFields(b.SkippedFor), bulkHeldFor: reasonFields(b.HeldFor), bulkPhase: b.Phase, bulkDelivered: b.Delivered, bulkFailed: b.Failed, bulkSkipped: b.Skipped,
		bulkReplaying: b.Replaying, bulkWaiting: b.Waiting, bulkFailedIDs: append([]string{}, b.FailedIDs...),
	}
}

// decodeBulk reads a bulk replay's document.
func decodeBulk(d Doc) *Bulk {
	f := reading(d.Fields)
	role, _ := ParseRole(f.text(bulkRole))
	count := func(name string) int { return int(f.integer(name)) }
	b := &Bulk{
		ID: d.ID, State: BulkState(f.text(bulkState)), Phase: f.text(bulkPhase), Filter: decodeFilter(f.object(bulkFilter)),
		By: Actor{Name: f.text(bulkBy), Role: role}, Reason: f.text(bulkReason), CreatedAt: f.time(bulkCreatedAt),
		EndedAt: f.time(bulkEndedAt), EndReason: f.text(bulkEndReason), CancelledBy: f.text(bulkCancelledBy),
		Total: count(bulkTotal), Delivered: count(bulkDelivered), Failed: count(bulkFailed), Skipped: count(bulkSkipped),
		Replaying: count(bulkReplaying), Waiting: count(bulkWaiting), FailedIDs: f.texts(bulkFailedIDs), UpdateTime: d.UpdateTime,
		Picked: f.flag(bulkPicked), Pinned: cmp.Or(f.text(bulkPinned), d.ID), Order: f.text(bulkOrder),
	}
	b.SkippedFor, b.HeldFor = decodeReasons(f.object(bulkSkippedFor)), decodeReasons(f.object(bulkHeldFor))
	switch v := d.Fields[bulkRateField].(type) {
	case float64:
		b.RatePerSecond = v
	case int64:
		b.RatePerSecond = float64(v)
	}
	return b
}

// reasonFields renders counts by reasons in words.
func reasonFields(reasons map[string]int) map[string]any {
	f := make(map[string]any, len(reasons))
	for why, n := range reasons {
		f[why] = n
	}
	return f
}

// decodeReasons reads them; nil: there are none.
func decodeReasons(f reading) map[string]int {
	var out map[string]int
	for why := range f {
		if out == nil {
			out = make(map[string]int)
		}
		out[why] = int(f.integer(why))
	}
	return out
}

func decodeBulks(docs []Doc) []*Bulk {
	bulks := make([]*Bulk, len(docs))
	for n, d := range docs {
		bulks[n] = decodeBulk(d)
	}
	return bulks
}

// filterFields renders a filter as a map with the names of its JSON.
func filterFields(f Filter) (map[string]any, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode filter: %w", err)
	}
	out := make(map[string]any)
	err = json.Unmarshal(data, &out)
	return out, err
}

// decodeFilter is lenient: the filter of a bulk replay is shown, not used.
func decodeFilter(m map[string]any) (f Filter) {
	data, err := json.Marshal(m)
	if err == nil {
		_ = json.Unmarshal(data, &f) // what it cannot read stays zero
	}
	return f
}
