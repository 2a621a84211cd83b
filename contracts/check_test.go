package contracts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	cat := defaultCatalog(t)
	long := strings.Repeat("x", 1025)
	deep := any("bottom")
	for range MaxPayloadDepth {
		deep = []any{deep}
	}
	id := soundFields(t)["eventId"].(string)
	keyed := func(aggregateID string, version int64) map[string]any {
		return map[string]any{"aggregateId": aggregateID, "aggregateVersion": version, "idempotencyKey": IdempotencyKey(id, aggregateID, version)}
	}
	with := func(m map[string]any, k string, v any) map[string]any { m[k] = v; return m }
	payload := func(v any) map[string]any { return map[string]any{"payload": map[string]any{"x": v}} }
	for _, c := range []struct {
		name, outbox string // outbox "" is accOutbox
		change       map[string]any
		want         string // faults
	}{
		{"sound", "", nil, ""},
		{"undeclared outbox", "nowhere", nil, `lies in outbox "nowhere", which the catalog does not declare`},
		{"eventId is no UUID", "", map[string]any{"eventId": "7", "idempotencyKey": "7:acc-1:7"}, "eventId is not a UUID"},
		{"eventId is a UUID in upper case", "", map[string]any{"eventId": strings.ToUpper(id), "idempotencyKey": strings.ToUpper(id) + ":acc-1:7"}, ""},
		{"eventId in braces", "", map[string]any{"eventId": "{" + id[2:] + "}", "idempotencyKey": "{" + id[2:] + "}:acc-1:7"}, "eventId is not a UUID"},
		{"key of another version", "", map[string]any{"aggregateVersion": int64(8)}, "idempotencyKey is not {eventId}:{aggregateId}:{aggregateVersion}"},
		{"key of another aggregate", "", map[string]any{"aggregateId": "acc-2"}, "idempotencyKey is not {eventId}:{aggregateId}:{aggregateVersion}"},
		{"key with a padded version", "", map[string]any{"idempotencyKey": id + ":acc-1:07"}, "idempotencyKey is not {eventId}:{aggregateId}:{aggregateVersion}"},
		{"key is not judged beside a bad part", "", map[string]any{"aggregateId": int64(1)}, "aggregateId is an integer, want a string"},
		{"aggregate with colons and slashes", "", keyed("a:b/c:1", 0), ""},
		{"empty aggregate", "", keyed("", 7), "aggregateId is empty"},
		{"longest aggregate", "", keyed(strings.Repeat("x", 1024-len(id)-3), 7), ""},
		{"aggregate over the ordering key's limit", "", keyed(long, 7), fmt.Sprintf("aggregateId is 1025 bytes long, want 1024 at most; idempotencyKey is %d bytes long, want 1024 at most", 1025+len(id)+3)},
		{"aggregate not UTF-8", "", keyed("\xff", 7), "aggregateId is not valid UTF-8; idempotencyKey is not valid UTF-8"},
		{"empty trace", "", map[string]any{"traceId": ""}, "traceId is empty"},
		{
			"long trace, traceparent and producer", "",
			map[string]any{"traceId": long, "traceparent": long, "producer": long},
			"traceId is 1025 bytes long, want 1024 at most; traceparent is 1025 bytes long, want 1024 at most; producer is 1025 bytes long, want 1024 at most",
		},
		{"malformed traceparent is passed on", "", map[string]any{"traceparent": "ff-0-0-0"}, ""},
		{"undeclared event type", "", map[string]any{"eventType": "Surprise"}, `eventType is "Surprise", which accOutbox does not declare`},
		{"pattern in the record", "schedOutbox", map[string]any{"eventType": "Compensating*", "lane": "STANDARD_LANE"}, ""},
		{"empty event type", "wsOutbox", map[string]any{"eventType": ""}, "eventType is empty"},
		{"long event type", "wsOutbox", map[string]any{"eventType": long}, "eventType is 1025 bytes long, want 1024 at most"},
		{"version that the catalog does not declare", "", map[string]any{"eventVersion": int64(2)}, "eventVersion is 2, want 1 as the catalog declares"},
		{"any version for a pattern", "wsOutbox", map[string]any{"eventType": "match.accepted", "eventVersion": int64(9)}, ""},
		{"unknown lane", "", map[string]any{"lane": "FAST_LANE"}, `lane is "FAST_LANE", want one of CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE`},
		{"unknown tier", "", map[string]any{"dlqTier": "safe_auto"}, `dlqTier is "safe_auto", want one of SAFE_AUTO, REVIEW_REQUIRED, SECURITY_BLOCK`},
		{"unknown status", "", map[string]any{"status": "new"}, `status is "new", want one of pending, retrying, delivered, dead, held`},
		{"year 10000", "", map[string]any{"occurredAt": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "occurredAt is outside the years 0 to 9999"},
		{"NaN", "", payload(math.NaN()), "payload.x is not a finite number"},
		{"infinity in an array", "", payload([]any{0.0, math.Inf(1)}), "payload.x[1] is not a finite number"},
		{"string not UTF-8", "", payload(map[string]any{"my key": "\xff"}), `payload.x["my key"] is not valid UTF-8`},
		{"key not UTF-8", "", payload(map[string]any{"\xff": true}), `payload.x["\xff"] has a key that is not valid UTF-8`},
		{"timestamp that RFC 3339 cannot carry", "", payload(time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)), "payload.x is a timestamp outside the years 0 to 9999"},
		{"value of no JSON type", "", payload(make(chan int)), "payload.x is a chan int, which JSON cannot carry"},
		{"deepest payload", "", payload(deep), ""},
		{"payload too deep", "", payload([]any{deep}), "payload.x" + strings.Repeat("[0]", MaxPayloadDepth) + " lies deeper than 20 levels"},
		{
			"payload that its schema refuses", "",
			map[string]any{"payload": map[string]any{"accountId": int64(7), "amount": "ten", "currency": nil}},
			"payload.accountId is a number, want a string; payload.amount does not match ^-?[0-9]+([.][0-9]+)?$; payload.currency is null, want a string",
		},
		{"empty payload", "", map[string]any{"payload": map[string]any{}}, ""},
		{
			"two faults of one field", "", with(keyed("\xff"+long, 7), "traceId", "\xff"),
			fmt.Sprintf("aggregateId is 1026 bytes long, want 1024 at most; aggregateId is not valid UTF-8; idempotencyKey is %d bytes long, want 1024 at most; idempotencyKey is not valid UTF-8; traceId is not valid UTF-8", 1026+len(id)+3),
		},
		{"what was decoded comes first", "", map[string]any{"lane": "FAST", "status": gone}, `status is missing; lane is "FAST", want one of CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE`},
	} {
		t.Run(c.name, func(t *testing.T) {
			outbox := "accOutbox"
			if c.outbox != "" {
				outbox = c.outbox
			}
			rec, faults := DecodeRecord(outbox, "doc", changed(soundFields(t), c.change))
			got := cat.Check(rec, faults)
			if diff := cmp.Diff(c.want, got.Faults.Error()); diff != "" {
				t.Error(diff)
			}
			if (got.Data == nil) != (c.want != "") {
				t.Errorf("%d bytes of data beside faults %q", len(got.Data), got.Faults)
			}
		})
	}
}

func TestCheckChoosesLaneAndTier(t *testing.T) {
	cat := defaultCatalog(t)
	for _, c := range []struct {
		name          string
		change        map[string]any
		lane          Lane
		tier          Tier
		disagreements []string
	}{
		{"as declared", nil, CriticalLane, ReviewRequired, nil},
		{"the catalog's lane wins", map[string]any{"lane": "BACKGROUND_LANE"}, CriticalLane, ReviewRequired, []string{"lane"}},
		{"the catalog's tier wins, also when milder", map[string]any{"dlqTier": "SECURITY_BLOCK"}, CriticalLane, ReviewRequired, []string{"tier"}},
		{"both", map[string]any{"lane": "STANDARD_LANE", "dlqTier": "SAFE_AUTO"}, CriticalLane, ReviewRequired, []string{"lane", "tier"}},
		{"the catalog's mild tier, no fault", map[string]any{"eventType": "AccountCreated", "lane": "STANDARD_LANE", "dlqTier": "SAFE_AUTO"}, StandardLane, SafeAuto, nil},
		{"the catalog's mild tier, a fault", map[string]any{"eventType": "AccountCreated", "lane": "STANDARD_LANE", "dlqTier": "SAFE_AUTO", "traceId": ""}, StandardLane, ReviewRequired, nil},
		{"the catalog's strict tier, a fault", map[string]any{"eventType": "RoleChanged", "dlqTier": "SECURITY_BLOCK", "traceId": ""}, CriticalLane, SecurityBlock, nil},
		{"an unknown lane is no disagreement", map[string]any{"lane": "FAST"}, CriticalLane, ReviewRequired, nil},
		{"undeclared type, the record's words", map[string]any{"eventType": "X", "lane": "BACKGROUND_LANE", "dlqTier": "SECURITY_BLOCK"}, BackgroundLane, SecurityBlock, nil},
		{"undeclared type, the record's mild tier", map[string]any{"eventType": "X", "dlqTier": "SAFE_AUTO"}, CriticalLane, ReviewRequired, nil},
		{"undeclared type, unknown words", map[string]any{"eventType": "X", "lane": "FAST", "dlqTier": "MILD"}, StandardLane, ReviewRequired, nil},
		{"missing type", map[string]any{"eventType": gone, "lane": gone, "dlqTier": gone}, StandardLane, ReviewRequired, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, faults := DecodeRecord("accOutbox", "doc", changed(soundFields(t), c.change))
			got := cat.Check(rec, faults)
			if got.Lane != c.lane || got.Tier != c.tier {
				t.Errorf("lane %s, tier %s, want %s, %s", got.Lane, got.Tier, c.lane, c.tier)
			}
			if diff := cmp.Diff(c.disagreements, got.Disagreements); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A record without a type must not slip through an outbox that takes any.
func TestCheckMissingTypeMatchesNoPattern(t *testing.T) {
	rec, faults := DecodeRecord("wsOutbox", "doc", changed(soundFields(t), map[string]any{"eventType": int64(1)}))
	if got := defaultCatalog(t).Check(rec, faults); got.Route != nil || len(got.Faults) != 1 {
		t.Errorf("route %v, faults %v, want none and one", got.Route, got.Faults)
	}
}

func TestCheckOfARecordMadeByHand(t *testing.T) {
	got := defaultCatalog(t).Check(&Record{Outbox: "accOutbox", AggregateVersion: -1}, nil)
	want := "eventId is not a UUID; aggregateId is empty; idempotencyKey is not {eventId}:{aggregateId}:{aggregateVersion}; traceId is empty; " +
		"aggregateVersion is -1, want 0 or more; eventType is empty; eventVersion is 0, want 1 or more; " +
		`lane is "", want one of CRITICAL_LANE, STANDARD_LANE, BACKGROUND_LANE; dlqTier is "", want one of SAFE_AUTO, REVIEW_REQUIRED, SECURITY_BLOCK; ` +
		`status is "", want one of pending, retrying, delivered, dead, held; payload is missing`
	if diff := cmp.Diff(want, got.Faults.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestIsUUID(t *testing.T) {
	for s, want := range map[string]bool{
		"0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3c": true, "00000000-0000-0000-0000-000000000000": true, "0B0E2A52-4F0B-4B0E-9D5C-1F6F6F1A2B3C": true,
		"0b0e2a524f0b4b0e9d5c1f6f6f1a2b3c": false, "0b0e2a52-4f0b-4b0e-9d5c-1f6f6f1a2b3g": false, "0b0e2a5204f0b-4b0e-9d5c-1f6f6f1a2b3c": false, "": false,
	} {
		if got := isUUID(s); got != want {
			t.Errorf("isUUID(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestCheckFillsInTheProducer(t *testing.T) {
	cat := defaultCatalog(t)
	rec, faults := DecodeRecord("accOutbox", "doc", changed(soundFields(t), map[string]any{"producer": gone}))
	got := cat.Check(rec, faults)
	if rec.Producer != "VS2 account" || !strings.Contains(string(got.Data), `"producer":"VS2 account"`) {
		t.Errorf("producer %q, data %s", rec.Producer, got.Data)
	}
	rec, faults = DecodeRecord("accOutbox", "doc", changed(soundFields(t), map[string]any{"producer": "wallet"}))
	if cat.Check(rec, faults); rec.Producer != "wallet" {
		t.Errorf("producer %q, want the record's own", rec.Producer)
	}
}

func TestCheckBoundsTheMessage(t *testing.T) {
	cat := defaultCatalog(t)
	fields := soundFields(t)
	judge := func(n int) Checked {
		rec, faults := DecodeRecord("accOutbox", "doc", changed(fields, map[string]any{"payload": map[string]any{"x": strings.Repeat("x", n)}}))
		return cat.Check(rec, faults)
	}
	if got := judge(MaxMessageBytes - 4096); len(got.Faults) > 0 {
		t.Errorf("just below: %v", got.Faults)
	}
	got := judge(MaxMessageBytes)
	if len(got.Faults) != 1 || !strings.Contains(got.Faults.Error(), "want 10000000 at most") || got.Data != nil {
		t.Errorf("above: %v", got.Faults)
	}
}

func TestCheckBoundsTheFaultsOfAPayload(t *testing.T) {
	for name, item := range map[string]any{"by the scan": math.NaN(), "by the schema": int64(1)} {
		t.Run(name, func(t *testing.T) {
			items := make([]any, 250)
			for i := range items {
				items[i] = item
			}
			change := map[string]any{"eventType": "RoleChanged", "payload": map[string]any{"roles": items}}
			rec, faults := DecodeRecord("accOutbox", "doc", changed(soundFields(t), change))
			got := defaultCatalog(t).Check(rec, faults).Faults
			if len(got) != maxFieldFaults+1 || got[maxFieldFaults].String() != "payload has 150 more faults" {
				t.Errorf("%d faults, the last %q", len(got), got[len(got)-1])
			}
		})
	}
}

// Dead letters are grouped by what is wrong with them: records with the same faults must tell
// them alike.
func TestCheckNamesThePayloadsFaultsInOrder(t *testing.T) {
	payload := make(map[string]any)
	for i := range maxFieldFaults + 10 {
		payload[fmt.Sprintf("f%03d", i)] = math.NaN()
	}
	var want string
	for i := range maxFieldFaults {
		want += fmt.Sprintf("payload.f%03d is not a finite number; ", i)
	}
	want += "payload has 10 more faults"
	rec, faults := DecodeRecord("wsOutbox", "doc", changed(soundFields(t), map[string]any{"payload": payload}))
	if got := defaultCatalog(t).Check(rec, faults).Faults.Error(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Neither faults nor their paths may tell what a payload holds.
func TestFaultsTellNoPayloadValue(t *testing.T) {
	const secret = "4111-1111"
	schema := `{"properties": {
		"const": {"const": 1}, "enum": {"enum": [1]}, "type": {"type": "integer"}, "pattern": {"pattern": "^a"}, "max": {"maxLength": 3},
		"format": {"format": "uuid"}, "not": {"not": {"type": "string"}}, "any": {"anyOf": [{"type": "null"}, {"const": 2}]}, "one": {"oneOf": [{"type": "null"}]},
		"names": {"propertyNames": {"maxLength": 1}}, "unique": {"uniqueItems": true}, "contains": {"contains": {"const": 1}}, "closed": {"additionalProperties": false},
		"need": {"required": ["b"]}, "dep": {"dependentRequired": {"a": ["b"]}}, "never": false, "min": {"minimum": 10000}
	}}`
	cat := catalogWithSchema(t, schema)
	fields := changed(soundFields(t), map[string]any{"payload": map[string]any{
		"const": secret, "enum": secret, "type": secret, "pattern": secret, "max": secret, "format": secret, "not": secret, "any": secret, "one": secret,
		"names": map[string]any{"long": secret}, "unique": []any{secret, secret}, "contains": []any{secret}, "closed": map[string]any{"k": secret},
		"need": map[string]any{"a": secret}, "dep": map[string]any{"a": secret}, "never": secret, "min": int64(4111),
	}})
	rec, faults := DecodeRecord("box", "doc", changed(fields, map[string]any{"eventType": "E"}))
	got := cat.Check(rec, faults).Faults.Error()
	if strings.Contains(got, "4111") {
		t.Errorf("a fault tells a value: %s", got)
	}
	want := []string{
		`payload has a key "long" that its schema does not allow`, "payload.any fits none of the alternatives of its schema", "payload.closed.k is not allowed by its schema", "payload.const is not the value that its schema wants",
		"payload.contains has too few of the items that its schema wants", "payload.dep violates dependentRequired of its schema", "payload.enum is none of the values that its schema allows",
		"payload.max is 9 characters long, want 3 at most", "payload.min is less than 10000", "payload.need.b is missing",
		"payload.never is not allowed by its schema", "payload.not violates its schema", "payload.one does not fit exactly one of the alternatives of its schema",
		"payload.pattern does not match ^a", "payload.type is a string, want an integer", "payload.unique has equal items at 0 and 1",
	}
	if diff := cmp.Diff(want, strings.Split(got, "; ")); diff != "" {
		t.Error(diff)
	}
}

func TestSchemaSeesPayloadAsJSON(t *testing.T) {
	cat := catalogWithSchema(t, `{"properties": {
		"at": {"type": "string", "pattern": "^2026-02-19T12:00:00.123456Z$"}, "bytes": {"const": "AP8="}, "n": {"type": "integer"},
		"list": {"items": {"type": "object", "properties": {"0": {"type": "string"}}}}
	}}`)
	payload := map[string]any{"at": sampleTime.In(time.FixedZone("east", 8*3600)), "bytes": []byte{0, 255}, "n": int64(1), "list": []any{map[string]any{"0": int64(1)}}}
	rec, faults := DecodeRecord("box", "doc", changed(soundFields(t), map[string]any{"eventType": "E", "payload": payload}))
	want := `payload.list[0]["0"] is a number, want a string`
	if got := cat.Check(rec, faults).Faults.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, ok := payload["at"].(time.Time); !ok {
		t.Error("the payload itself was changed")
	}
}

// catalogWithSchema has one outbox, box, with one event, E.
func catalogWithSchema(t *testing.T, schema string) *Catalog {
	t.Helper()
	files := fstest.MapFS{"e.json": {Data: []byte(schema)}}
	cat, err := ParseCatalog("c.yaml", []byte(strings.ReplaceAll(minimal, "%s", ", schema: e.json")), files)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestSamplesAreSound(t *testing.T) {
	cat := defaultCatalog(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, o := range cat.Outboxes {
		seen := make(map[*EventRoute]bool)
		for i := range 200 {
			rec := cat.Sample(r, o, fmt.Sprintf("agg-%d", i), int64(i), sampleTime)
			got := cat.Check(rec, nil)
			if len(got.Faults) > 0 || len(got.Disagreements) > 0 {
				t.Fatalf("%s %s: %v %v", o.Name, rec.EventType, got.Faults, got.Disagreements)
			}
			if rec.ID != rec.IdempotencyKey || len(rec.TraceID) != 32 || rec.Traceparent != "00-"+rec.TraceID+"-"+rec.Traceparent[36:52]+"-01" {
				t.Fatalf("ID %q, traceId %q, traceparent %q", rec.ID, rec.TraceID, rec.Traceparent)
			}
			seen[got.Route] = true
		}
		if len(seen) != len(o.Events) {
			t.Errorf("%s: samples of %d events, want %d", o.Name, len(seen), len(o.Events))
		}
	}
}

func TestSampleIsRepeatable(t *testing.T) {
	cat := defaultCatalog(t)
	sample := func() *Record {
		return cat.Sample(rand.New(rand.NewPCG(7, 8)), cat.Outbox("orgOutbox"), "a/b", 1, sampleTime)
	}
	if diff := cmp.Diff(sample(), sample()); diff != "" {
		t.Error(diff)
	}
	if id := sample().ID; strings.Contains(id, "/") {
		t.Errorf("document ID %q holds a slash", id)
	}
}

func TestSampleAvoidsShadowedPatterns(t *testing.T) {
	o := &Outbox{Slice: "s", Events: []*EventRoute{{Type: "WorkspaceRenamed"}, {Type: "WorkspaceArchived"}, {Type: "T*"}, {Type: "D*"}, {Type: "M*"}, {Type: "*"}}}
	route := o.Events[5]
	rec := sampleOf(rand.New(rand.NewPCG(1, 1)), o, route, "a", 0, sampleTime)
	if o.Route(rec.EventType) != route {
		t.Errorf("%s travels along %v", rec.EventType, o.Route(rec.EventType))
	}
}
