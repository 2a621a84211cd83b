package outbox_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"outboxrelay/contracts/outbox"
)

// someValue draws what a producer may put into a payload, sound or not.
func someValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 10
		if depth > 3 {
			kinds = 8 // no more containers
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int64().Draw(t, "integer")
		case 3:
			return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1), 5e-324, 1e21})).Draw(t, "double")
		case 4:
			return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\xff", "<&>\u2028", "\x00"})).Draw(t, "text")
		case 5:
			seconds := rapid.Int64Range(-70_000_000_000, 300_000_000_000).Draw(t, "seconds")
			return time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		case 6:
			return rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")
		case 7:
			return rapid.Uint64().Draw(t, "unsigned")
		case 8:
			return rapid.SliceOfN(someValue(depth+1), 0, 3).Draw(t, "list")
		}
		return rapid.MapOfN(someName(), someValue(depth+1), 0, 4).Draw(t, "map")
	})
}

func someName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a-z]{1,5}`), rapid.StringMatching(`[a-zA-Z0-9_-]{1,9}`), rapid.SampledFrom([]string{"", "__x__", "a.b", "..", "\xff", "名", "__type__"}))
}

func someEvent() *rapid.Generator[outbox.Event] {
	return rapid.Custom(func(t *rapid.T) outbox.Event {
		name := rapid.OneOf(rapid.StringMatching(`[a-z/%.]{1,12}`), rapid.SampledFrom([]string{"", ".", "..", "__x__", "\xff", "a:b", "價格"}))
		e := outbox.Event{
			AggregateID: name.Draw(t, "aggregate"), AggregateVersion: rapid.Int64Range(-1, math.MaxInt64).Draw(t, "version"),
			AggregateType: rapid.SampledFrom([]string{"", "account", "\xff"}).Draw(t, "aggregate type"),
			TraceID:       rapid.SampledFrom([]string{"", "", "request-1", "\xff"}).Draw(t, "trace"),
			Payload:       rapid.MapOfN(someName(), someValue(1), 0, 4).Draw(t, "payload"),
		}
		switch rapid.IntRange(0, 3).Draw(t, "type") {
		case 0:
			e.Type, e.Outbox = name.Draw(t, "any type"), "wsOutbox"
		case 1:
			e.Type = "WalletDeducted"
		case 2:
			e.Type, e.Outbox = "AuditEvent", "tagOutbox"
		case 3:
			e.Type, e.Version = "RoleChanged", rapid.Int64Range(-1, 2).Draw(t, "event version")
		}
		if rapid.Bool().Draw(t, "has a time") {
			e.OccurredAt = time.Unix(rapid.Int64Range(-70_000_000_000, 300_000_000_000).Draw(t, "occurred"), 0)
		}
		return e
	})
}

// Whatever Records accepts, Firestore takes, and the relay's check finds nothing in
// what is stored: no fault, and no disagreement with the catalog. A second append of
// it is a repeat.
func TestWhatIsAcceptedIsSoundModel(t *testing.T) { whatIsAcceptedIsSound(t, onEmbedded(t)) }

func TestWhatIsAcceptedIsSoundModelOnGoogle(t *testing.T) {
	whatIsAcceptedIsSound(t, onGoogle(t))
}

func whatIsAcceptedIsSound(t *testing.T, s *slice) {
	accepted, drawn := 0, 0
	s.catalog.Outbox("tagOutbox").Shards = 8
	rapid.Check(t, func(r *rapid.T) {
		drawn++
		event := someEvent().Draw(r, "event")
		event.EventID = fmt.Sprintf("0b0e2a52-4f0b-4b0e-9d5c-%012d", drawn)
		if _, err := s.Records(t.Context(), event); err != nil {
			return
		}
		accepted++
		results, err := s.append(t.Context(), event)
		if err != nil || results[0].Repeated {
			r.Fatalf("append: %+v, %v", results, err)
		}
		if _, checked := s.stored(results[0].Document); checked.Faults.Err() != nil || len(checked.Disagreements) > 0 {
			r.Fatalf("the relay's check: %v, %v", checked.Faults, checked.Disagreements)
		}
		if results, err = s.append(t.Context(), event); err != nil || !results[0].Repeated {
			r.Fatalf("second append: %+v, %v", results, err)
		}
	})
	t.Logf("%d of %d events were accepted", accepted, drawn)
	if accepted == 0 {
		t.Error("no event was accepted, which tells nothing")
	}
}
