package relay_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/genproto/googleapis/type/latlng"

	"outboxrelay/contracts"
)

// hostile is a record that no producer should write: a sound TaskCompleted of
// wsOutbox, changed.
type hostile struct {
	name   string
	change func(fields map[string]any)
	id     string // of its document; "": as a producer should make it
	fault  string // the field that its dead letter names; "": it is delivered
}

// sets returns a change of one field; absent{} removes it.
func sets(field string, value any) func(map[string]any) {
	return func(fields map[string]any) {
		if fields[field] = value; value == (absent{}) {
			delete(fields, field)
		}
	}
}

// within returns a change that puts a value into the payload.
func within(value any) func(map[string]any) {
	return sets("payload", map[string]any{"value": value})
}

// identified returns a change of the aggregate's ID, and with it of the key.
func identified(aggregateID string) func(map[string]any) {
	return func(fields map[string]any) {
		fields["aggregateId"] = aggregateID
		fields["idempotencyKey"] = contracts.IdempotencyKey(fields["eventId"].(string), aggregateID, fields["aggregateVersion"].(int64))
	}
}

// hostileRecords is the whole corpus.
func (f *fixture) hostileRecords() []hostile {
	return slices.Concat(f.mistyped(), hostilePayloads(), hostileTexts(), hostileTimes(), hostileProgress(), hostileSizes())
}

// kinds are one value of each type that Firestore has.
func (f *fixture) kinds() map[string]any {
	return map[string]any{
		"null": nil, "boolean": true, "integer": 7, "double": 1.5, "NaN": math.NaN(), "string": "text", "bytes": []byte("\xff\xfe"),
		"timestamp": time.Unix(1, 0), "array": []any{1, nil, []byte{0}}, "map": map[string]any{"k": nil}, "geopoint": &latlng.LatLng{Latitude: 1, Longitude: 2},
		"reference": f.db.Doc("wsOutbox/none"), "vector": firestore.Vector64{1, 2},
	}
}

// mistyped has each field missing, and of each type that is not its own.
func (f *fixture) mistyped() []hostile {
	own := map[string][]string{
		"eventVersion": {"integer"}, "payload": {"map", "geopoint"}, "occurredAt": {"timestamp"}, "createdAt": {"timestamp"},
		"attempts": {"integer", "null"}, "nextAttemptAt": {"timestamp", "null"}, "deliveredAt": {"timestamp", "null"}, "expireAt": {"timestamp", "null"},
		"lastError": {"string", "reference", "null"}, "deliveredTargets": {"null"}, "attemptErrors": {"null"},
		// Any text will do, and a reference is read as one.
		"traceId": {"string", "reference"}, "producer": {"string", "reference"}, "eventType": {"string", "reference"},
		"aggregateType": {"string", "reference"}, "traceparent": {"string", "reference"},
	}
	ofKey := map[string][]string{"aggregateVersion": {"integer"}, "aggregateId": {"string", "reference"}} // sound, but the key says otherwise
	kinds := f.kinds()
	var out []hostile
	for _, field := range append(contracts.RecordFields(), contracts.FieldAttemptErrors) {
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			fault := field
			switch {
			case slices.Contains(own[field], kind), field == contracts.FieldShard: // wsOutbox has no shards, so that nobody looks at it
				fault = ""
			case slices.Contains(ofKey[field], kind):
				fault = "idempotencyKey"
			}
			out = append(out, hostile{name: field + " as " + kind, change: sets(field, kinds[kind]), fault: fault})
		}
	}
	for _, field := range []string{
		"eventId", "eventType", "aggregateId", "aggregateVersion", "idempotencyKey", "traceId", "lane", "dlqTier", "occurredAt", "createdAt", "payload", "status",
	} {
		out = append(out, hostile{name: "no " + field, change: sets(field, absent{}), fault: field})
	}
	return append(out, hostile{name: "nothing at all", change: func(fields map[string]any) { clear(fields) }, fault: "eventId"})
}

// hostilePayloads are payloads that are odd, and some that JSON cannot carry.
func hostilePayloads() []hostile {
	deep := func(levels int) any { // maps within the payload
		var v any = "bottom"
		for range levels {
			v = map[string]any{"d": v}
		}
		return v
	}
	keys := map[string]any{" ": 1, ".": 2, "a.b": 3, "`": 4, "\"": 5, "\u2028": 6, "\x00": 7, "ö/": 8, "_": 9, strings.Repeat("k", 1400): 10}
	nested := map[string]any{"time": time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), "bytes": []byte("\xff"), "list": []any{map[string]any{}, nil}}
	manyBad := make(map[string]any)
	for i := range 300 {
		manyBad[fmt.Sprint(strings.Repeat("k", 1400), i)] = math.NaN()
	}
	return []hostile{
		{name: "empty payload", change: sets("payload", map[string]any{})},
		{name: "payload as deep as can be", change: within(deep(18))},
		{name: "odd keys", change: within(keys)},
		{name: "every type", change: within(nested)},
		{name: "control characters", change: within("\x00\x01\x1f\x7f\u0080\u2028\u2029\uffff<&>")},
		{name: "NaN", change: within(math.NaN()), fault: "payload.value"},
		{name: "infinity", change: within(math.Inf(1)), fault: "payload.value"},
		{name: "negative infinity in a list", change: within([]any{0, math.Inf(-1)}), fault: "payload.value[1]"},
		{name: "negative zero", change: within(math.Copysign(0, -1))},
		{name: "largest numbers", change: within([]any{math.MaxInt64, math.MinInt64, math.MaxFloat64, math.SmallestNonzeroFloat64})},
		{name: "timestamp of the year 1", change: within(time.Time{})},
		{name: "hundreds of faults under long keys", change: within(manyBad), fault: "payload.value"},
		{name: "vector", change: within(firestore.Vector32{1, float32(math.Inf(1))}), fault: "payload.value[1]"},
	}
}

// hostileTexts are names that are odd, and some that are too long.
func hostileTexts() []hostile {
	var out []hostile
	odd := map[string]string{
		"a dot": ".", "two dots": "..", "reserved": "__x__", "underscores": "_x_", "slashes": "a/b//c/", "space": " ", "newline": "a\nb", "zero byte": "\x00",
		"percent": "%2F", "unicode": "ünï\u202e🐦", "separator": "\u2028", "colons": "a:b:1", "HTML": "<b>&", "comma": "a,b",
	}
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		text := odd[name]
		out = append(out,
			hostile{name: "aggregateId of " + name, change: identified(text)},
			hostile{name: "traceId of " + name, change: sets("traceId", text)},
			hostile{name: "eventType of " + name, change: sets("eventType", text)},
			hostile{name: "producer of " + name, change: sets("producer", text)},
			hostile{name: "traceparent of " + name, change: sets("traceparent", text)},
			hostile{name: "idempotencyKey of " + name, change: sets("idempotencyKey", text), fault: "idempotencyKey"},
			hostile{name: "lane of " + name, change: sets("lane", text), fault: "lane"},
			hostile{name: "dlqTier of " + name, change: sets("dlqTier", text), fault: "dlqTier"},
			hostile{name: "status of " + name, change: sets("status", text), fault: "status"},
		)
	}
	for _, field := range []string{"eventId", "eventType", "aggregateId", "idempotencyKey", "traceId", "lane", "dlqTier", "status"} {
		out = append(out, hostile{name: field + " empty", change: sets(field, ""), fault: field})
	}
	for _, field := range []string{"eventId", "eventType", "traceId", "traceparent", "producer", "idempotencyKey", "lane", "dlqTier", "status"} {
		for _, n := range []int{1025, 1501, 100_000} {
			if n > 1500 && (field == "lane" || field == "status") {
				continue // an indexed value that is longer is cut: Firestore's own queries need not find it
			}
			out = append(out, hostile{name: fmt.Sprintf("%s of %d bytes", field, n), change: sets(field, strings.Repeat("x", n)), fault: field})
		}
	}
	key := strings.Repeat("k", 1024-len("00000000-0000-0000-0000-000000000000::1"))
	out = append(out,
		hostile{name: "attributes as long as can be", change: func(fields map[string]any) {
			for _, field := range []string{"eventType", "traceId", "traceparent", "producer"} {
				fields[field] = strings.Repeat("\x01", 1024)
			}
			identified(key)(fields)
		}},
		hostile{name: "aggregateId a byte too long for the key", change: identified(key + "k"), fault: "idempotencyKey"},
		hostile{name: "aggregateId of 1025 bytes", change: identified(strings.Repeat("a", 1025)), fault: "aggregateId"},
		hostile{name: "aggregateId of 1501 bytes", change: identified(strings.Repeat("a", 1501)), fault: "aggregateId"},
		hostile{name: "idempotencyKey that grows as an ID", change: sets("idempotencyKey", strings.Repeat("/", 1000)), fault: "idempotencyKey"},
	)
	for name, id := range map[string]string{
		"a space": " ", "unicode": "ünï🐦", "underscores": "_a_", "dots": "...", "newline": "a\nb", "exclamation mark": "!", "canary's prefix": "!relay-canary.mine",
		"1500 bytes": strings.Repeat("i", 1500), "backquote": "`", "control": "\x01",
	} {
		out = append(out, hostile{name: "document ID of " + name, change: func(map[string]any) {}, id: id})
	}
	return out
}

// hostileTimes are times that are odd: none of them may stop what comes behind.
func hostileTimes() []hostile {
	var out []hostile
	for name, at := range map[string]time.Time{
		"the first instant": {}, "before 1970": time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), "1970": time.Unix(0, 0),
		"the last instant": time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), "nanoseconds": time.Now().Add(time.Nanosecond), "tomorrow": time.Now().AddDate(0, 0, 1),
	} {
		for _, field := range []string{"createdAt", "occurredAt", "nextAttemptAt", "deliveredAt", "expireAt"} {
			out = append(out, hostile{name: field + " at " + name, change: sets(field, at)})
		}
	}
	return out
}

// hostileProgress are records that say of themselves what the relay should say.
func hostileProgress() []hostile {
	failure := func(fields map[string]any) map[string]any {
		sound := map[string]any{"time": time.Now(), "attempt": 1, "target": "FUNNEL", "code": "Internal", "message": "no"}
		maps.Copy(sound, fields)
		return map[string]any{"attemptErrors": []any{sound}}
	}
	all := func(change map[string]any) func(map[string]any) {
		return func(fields map[string]any) { maps.Copy(fields, change) }
	}
	return []hostile{
		{name: "attempts negative", change: sets("attempts", -1), fault: "attempts"},
		{name: "attempts a trillion", change: sets("attempts", int64(1e12))},
		{name: "attempts the largest", change: sets("attempts", int64(math.MaxInt64))},
		{name: "attempts the smallest", change: sets("attempts", int64(math.MinInt64)), fault: "attempts"},
		{name: "aggregateVersion the largest", change: func(fields map[string]any) {
			fields["aggregateVersion"] = int64(math.MaxInt64)
			identified("largest")(fields)
		}},
		{name: "aggregateVersion negative", change: sets("aggregateVersion", -1), fault: "aggregateVersion"},
		{name: "eventVersion zero", change: sets("eventVersion", 0), fault: "eventVersion"},
		{name: "eventVersion the largest", change: sets("eventVersion", int64(math.MaxInt64))},
		{name: "deliveredTargets of another catalog", change: sets("deliveredTargets", []any{"NOBODY", "", strings.Repeat("x", 2000)})},
		{name: "deliveredTargets of every type", change: sets("deliveredTargets", []any{nil, true, 1, 1.5, []byte("x"), time.Now(), map[string]any{}}), fault: "deliveredTargets[0]"},
		{name: "deliveredTargets thousandfold", change: sets("deliveredTargets", slices.Repeat([]any{"FUNNEL2"}, 5000))},
		{name: "lastError of 100 kB", change: sets("lastError", strings.Repeat("e", 100_000))},
		{name: "attemptErrors that are sound", change: all(failure(nil))},
		{name: "attemptErrors of a mistyped time", change: all(failure(map[string]any{"time": "now"})), fault: "attemptErrors[0].time"},
		{name: "attemptErrors without end", change: sets("attemptErrors", slices.Repeat([]any{map[string]any{"attempt": -1}}, 2000)), fault: "attemptErrors"},
		{name: "attemptErrors of 100 kB", change: all(failure(map[string]any{"message": strings.Repeat("m", 100_000)}))},
		{name: "a canary's field", change: sets("canary", "tweet")},
		{name: "fields that nobody knows", change: func(fields map[string]any) {
			for i := range 500 {
				fields[fmt.Sprint("extra", i)] = i
			}
		}},
	}
}

// most is what a value may take beside the rest of a record: Firestore refuses
// documents over 1 MiB.
const most = 1<<20 - 4096

// hostileSizes are as large as Firestore takes, and grow the most as JSON: six
// bytes for one.
func hostileSizes() []hostile {
	return []hostile{
		{name: "text of nearly a megabyte", change: within(strings.Repeat("x", most))},
		{name: "control characters of nearly a megabyte", change: within(strings.Repeat("\x00", most))},
		{name: "bytes of nearly a megabyte", change: within(slices.Repeat([]byte{0xff}, most))},
		{name: "a quarter of a million booleans", change: within(slices.Repeat([]any{false}, most/4))},
		{name: "an unknown field of nearly a megabyte", change: sets("extra", strings.Repeat("x", most))},
		{name: "traceId of nearly a megabyte", change: sets("traceId", strings.Repeat("x", most)), fault: "traceId"},
		{name: "idempotencyKey of nearly a megabyte", change: sets("idempotencyKey", strings.Repeat("%", most)), fault: "idempotencyKey"},
	}
}

// refused are records that Firestore does not take.
func refused() []hostile {
	var deep any = "bottom"
	for range 20 {
		deep = map[string]any{"d": deep}
	}
	named := func(id string) hostile {
		return hostile{name: fmt.Sprintf("document ID %.10q of %d bytes", id, len(id)), change: func(map[string]any) {}, id: id}
	}
	return []hostile{
		{name: "a megabyte", change: within(strings.Repeat("x", 1<<20))},
		{name: "too deep", change: within(deep)},
		{name: "an array in an array", change: within([]any{[]any{}})},
		{name: "text that is not UTF-8", change: within("\xff")},
		{name: "a field without a name", change: within(map[string]any{"": 1})},
		{name: "a reserved field", change: within(map[string]any{"__x__": 1})},
		{name: "a field's name over 1500 bytes", change: within(map[string]any{strings.Repeat("k", 1501): 1})},
		{name: "a timestamp before the year 1", change: within(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))},
		{name: "a timestamp after the year 9999", change: within(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))},
		named("."), named(".."), named("__x__"), named(strings.Repeat("i", 1501)),
	}
}
