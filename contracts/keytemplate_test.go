package contracts

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// offerSchema requires what keys are made of, in the places that a reader of
// schemas has to look into.
const offerSchema = `{
	"type": "object",
	"required": ["user", "day", "n", "flag", "kind", "inner"],
	"properties": {
		"user": {"$ref": "#/$defs/id"}, "day": {"type": "string"}, "n": {"type": "integer"}, "flag": {"const": true}, "kind": {"enum": ["daily", "anchor"]},
		"inner": {"allOf": [{"type": "object", "required": ["id"]}, {"properties": {"id": {"type": ["string", "integer"]}}}]},
		"maybe": {"type": "string"}, "rate": {"type": "number"}, "any": {}, "none": {"type": ["string", "null"]}, "list": {"type": "array"}
	},
	"allOf": [{"required": ["rate", "any", "none", "list"]}],
	"$defs": {"id": {"type": "string"}}
}`

func offerCatalog(t *testing.T, event string) (*Catalog, error) {
	t.Helper()
	return ParseCatalog("c.yaml", []byte(soundTargets+box(event)), fstest.MapFS{"offer.json": {Data: []byte(offerSchema)}})
}

func offerEvent(with string) string {
	return "{type: Offer, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: offer.json, " + with + "}"
}

func soundOffer() map[string]any {
	return map[string]any{
		"user": "u-1", "day": "2026-02-19", "n": int64(7), "flag": true, "kind": "daily", "inner": map[string]any{"id": "i"},
		"rate": 0.5, "any": nil, "none": nil, "list": []any{},
	}
}

func TestKeyTemplateFaults(t *testing.T) {
	const use = "use {eventId}, {eventType}, {eventVersion}, {aggregateId}, {aggregateVersion}, {payload.name}"
	for _, c := range []struct {
		name, event string
		want        []string
	}{
		{"no field", offerEvent("idempotencyKey: offer"), []string{"idempotencyKey is the same for all records; " + use}},
		{"empty", offerEvent("idempotencyKey: ''"), []string{"idempotencyKey is empty; give it a value"}},
		{"a list", offerEvent("idempotencyKey: [a]"), []string{"idempotencyKey is a list, want text; write text, in quotes if need be"}},
		{"open brace", offerEvent("idempotencyKey: '{eventId'"), []string{"idempotencyKey has a brace without its other; " + use}},
		{"closing brace", offerEvent("idempotencyKey: '{eventId}}'"), []string{"idempotencyKey has a brace without its other; " + use}},
		{"brace in brace", offerEvent("idempotencyKey: '{{eventId}}'"), []string{
			"idempotencyKey has a brace without its other; " + use, "idempotencyKey has a brace without its other; " + use,
		}},
		{"unknown, optional and foreign fields", offerEvent("idempotencyKey: '{colour}{traceId}{payload}{payload.}{payload.a b}'"), []string{
			"idempotencyKey names {colour}, which it cannot be made of; " + use, "idempotencyKey names {traceId}, which it cannot be made of; " + use,
			"idempotencyKey names {payload}, which it cannot be made of; " + use, "idempotencyKey names {payload.}, which it cannot be made of; " + use,
			"idempotencyKey names {payload.a b}, which it cannot be made of; " + use,
		}},
		{"line break", offerEvent(`idempotencyKey: "{eventId}\n"`), []string{"idempotencyKey holds characters that are not printable; write plain text"}},
		{"the same for all of an aggregate", offerEvent("idempotencyKey: '{eventType}:{aggregateId}'"), []string{
			"idempotencyKey is the same for all records of an aggregate; add {aggregateVersion}, or what tells them apart in the payload",
		}},
		{"what the schema does not vouch for", offerEvent("idempotencyKey: '{payload.maybe}{payload.rate}{payload.any}{payload.none}{payload.list}{payload.nowhere}{payload.inner}{payload.inner.x}{payload.user.x}'"), []string{
			"idempotencyKey names {payload.maybe}, and schema offer.json does not require payload.maybe; require it there",
			"idempotencyKey names {payload.rate}, and schema offer.json does not say that payload.rate is a string, an integer or a boolean; let nothing else be there",
			"idempotencyKey names {payload.any}, and schema offer.json does not say that payload.any is a string, an integer or a boolean; let nothing else be there",
			"idempotencyKey names {payload.none}, and schema offer.json does not say that payload.none is a string, an integer or a boolean; let nothing else be there",
			"idempotencyKey names {payload.list}, and schema offer.json does not say that payload.list is a string, an integer or a boolean; let nothing else be there",
			"idempotencyKey names {payload.nowhere}, and schema offer.json does not require payload.nowhere; require it there",
			"idempotencyKey names {payload.inner}, and schema offer.json does not say that payload.inner is a string, an integer or a boolean; let nothing else be there",
			"idempotencyKey names {payload.inner.x}, and schema offer.json does not require payload.inner.x; require it there",
			"idempotencyKey names {payload.user.x}, and schema offer.json does not say that payload.user is an object; let nothing else be there",
		}},
		{"aggregate", offerEvent("aggregateId: '{aggregateId}{payload.maybe}'"), []string{
			"aggregateId names {aggregateId}, which it cannot be made of; use {payload.name}",
			"aggregateId names {payload.maybe}, and schema offer.json does not require payload.maybe; require it there",
		}},
		{"every fault at once", offerEvent("idempotencyKey: '{colour}', aggregateId: '{payload.maybe}', twoPersonRule: true"), []string{
			"idempotencyKey names {colour}, which it cannot be made of; " + use,
			"aggregateId names {payload.maybe}, and schema offer.json does not require payload.maybe; require it there",
			"twoPersonRule is for tier SECURITY_BLOCK alone; remove it, or use tier SECURITY_BLOCK",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := offerCatalog(t, c.event)
			invalid, ok := errors.AsType[*CatalogError](err)
			if !ok {
				t.Fatalf("got %v, want a CatalogError", err)
			}
			var want []string
			for _, line := range c.want {
				want = append(want, "c.yaml:7: event Offer of outbox box: "+line)
			}
			if diff := cmp.Diff(want, strings.Split(invalid.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSameKeyOfTwoEventsIsAWarning(t *testing.T) {
	other := strings.Replace(offerEvent("idempotencyKey: '{payload.user}'"), "Offer", "Other", 1)
	cat, err := ParseCatalog("c.yaml", []byte(soundTargets+box(offerEvent("idempotencyKey: '{payload.user}'"), other)), fstest.MapFS{"offer.json": {Data: []byte(offerSchema)}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"c.yaml:8: event Other of outbox box and event Offer have the same idempotencyKey: a record of the one may be taken for one of the other; add {eventType} to one, unless the values always differ"}
	if diff := cmp.Diff(want, cat.Warnings); diff != "" {
		t.Error(diff)
	}
}

// SPEC leaves the schema to the catalog, and the key's payload fields with it.
func TestKeyOfAPayloadWithoutASchemaIsAWarning(t *testing.T) {
	const event = "{type: Offer, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], idempotencyKey: '{payload.batch.date}:{payload.user}', aggregateId: '{payload.user}'}"
	cat, err := offerCatalog(t, event)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, names := range []string{"idempotencyKey names {payload.batch.date}", "idempotencyKey names {payload.user}", "aggregateId names {payload.user}"} {
		want = append(want, "c.yaml:7: event Offer of outbox box: "+names+", and the event has no schema: a record without it breaks the contract; give the event a schema that requires it")
	}
	if diff := cmp.Diff(want, cat.Warnings); diff != "" {
		t.Error(diff)
	}
	rec := cat.Sample(rand.New(rand.NewPCG(1, 1)), cat.Outbox("box"), "u-1", 1, sampleTime)
	if rec.IdempotencyKey == "" || rec.Payload["user"] != "u-1" {
		t.Errorf("sample %+v has not what its key is made of", rec)
	}
	if checked := cat.Check(rec, nil); len(checked.Faults) > 0 {
		t.Errorf("a sample is refused: %v", checked.Faults)
	}
	delete(rec.Payload, "batch")
	checked := cat.Check(rec, nil)
	if diff := cmp.Diff(Faults{{"payload.batch.date", "is missing"}}, checked.Faults); diff != "" {
		t.Error(diff)
	}
}

// both judges a record as it is read field by field, and as the wire's decoder
// gives it, with its payload written as JSON.
func both(t *testing.T, cat *Catalog, fields map[string]any, judge func(t *testing.T, rec *Record, checked Checked)) {
	t.Helper()
	t.Run("fields", func(t *testing.T) {
		rec, faults := DecodeRecord("box", "doc", fields)
		judge(t, rec, cat.Check(rec, faults))
	})
	t.Run("wire", func(t *testing.T) {
		rec, faults := DecodeRecord("box", "doc", fields)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		rec.PayloadJSON, rec.Payload = string(appendMap(nil, rec.Payload)), nil
		judge(t, rec, cat.Check(rec, nil))
	})
}

func TestKeyOfARecord(t *testing.T) {
	cases := []struct {
		name, template string
		payload        map[string]any
		key            string // as derived
	}{
		{"the default", string(DefaultKey), nil, "00000000-0000-4000-8000-000000000001:u-1:7"},
		{"fields of the record", "{eventType}/{eventVersion}/{aggregateId}/{aggregateVersion}", nil, "Offer/1/u-1/7"},
		{"values of the payload", "{payload.day}:{payload.user}:{payload.kind}", nil, "2026-02-19:u-1:daily"},
		{"an integer, a boolean and what is inside", "x{payload.n}-{payload.flag}-{payload.inner.id}", nil, "x7-true-i"},
		{"an integer as a double", "{payload.n}", map[string]any{"n": 8.0}, "8"},
		{"a large integer", "{payload.n}", map[string]any{"n": int64(9007199254740993)}, "9007199254740993"},
		{"a timestamp", "{payload.day}", map[string]any{"day": sampleTime}, "2026-02-19T12:00:00.123456Z"},
		{"bytes", "{payload.day}", map[string]any{"day": []byte{1, 2}}, "AQI="},
		{"text that looks like a template", "{payload.day}", map[string]any{"day": "{eventId}"}, "{eventId}"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cat, err := offerCatalog(t, offerEvent("idempotencyKey: '"+c.template+"'"))
			if err != nil {
				t.Fatal(err)
			}
			roundTripIn(t, cat, fstest.MapFS{"offer.json": {Data: []byte(offerSchema)}})
			payload := soundOffer()
			maps.Copy(payload, c.payload)
			fields := changed(soundFields(t), map[string]any{
				"eventType": "Offer", "eventId": "00000000-0000-4000-8000-000000000001", "aggregateId": "u-1", "aggregateVersion": int64(7),
				"lane": "STANDARD_LANE", "dlqTier": "SAFE_AUTO", "payload": payload, "idempotencyKey": c.key,
			})
			both(t, cat, fields, func(t *testing.T, rec *Record, checked Checked) {
				if len(checked.Faults) > 0 {
					t.Errorf("faults %v", checked.Faults)
				}
				if got, err := checked.Route.IdempotencyKey(rec); got != c.key || err != nil {
					t.Errorf("derived %q, %v, want %q", got, err, c.key)
				}
			})
			both(t, cat, changed(fields, map[string]any{"idempotencyKey": c.key + "x"}), func(t *testing.T, _ *Record, checked Checked) {
				if want := "idempotencyKey is not " + c.template; checked.Faults.Error() != want || checked.Data != nil {
					t.Errorf("faults %q, want %q", checked.Faults, want)
				}
			})
		})
	}
}

func TestKeyOfARecordThatLacksIt(t *testing.T) {
	cat, err := offerCatalog(t, offerEvent("idempotencyKey: '{payload.user}:{payload.inner.id}', aggregateId: '{payload.user}'"))
	if err != nil {
		t.Fatal(err)
	}
	route := cat.Outbox("box").Route("Offer")
	rec := &Record{Payload: map[string]any{"inner": map[string]any{"id": []any{}}}}
	want := "payload.user is missing; payload.inner.id is neither text nor an integer nor a boolean, so that no key can be made of it"
	if _, err := route.IdempotencyKey(rec); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := route.AggregateOf(rec); err == nil || err.Error() != "payload.user is missing" {
		t.Errorf("got %v", err)
	}
	sound := soundOffer()
	fields := changed(soundFields(t), map[string]any{
		"eventType": "Offer", "aggregateId": "u-1", "lane": "STANDARD_LANE", "dlqTier": "SAFE_AUTO", "payload": sound, "idempotencyKey": "u-1:i",
	})
	for _, c := range []struct {
		name   string
		change map[string]any
		want   string
	}{
		{"sound", nil, ""},
		{"the payload is to blame", map[string]any{"payload": changed(sound, map[string]any{"user": gone})}, "payload.user is missing"},
		{"another aggregate", map[string]any{"aggregateId": "u-2"}, "aggregateId is not {payload.user}"},
		{"both", map[string]any{"payload": changed(sound, map[string]any{"user": "u-3"})}, "aggregateId is not {payload.user}; idempotencyKey is not {payload.user}:{payload.inner.id}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, cat, changed(fields, c.change), func(t *testing.T, _ *Record, checked Checked) {
				if diff := cmp.Diff(c.want, checked.Faults.Error()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	t.Run("a key that is empty", func(t *testing.T) {
		cat, err := offerCatalog(t, offerEvent("idempotencyKey: '{payload.user}'"))
		if err != nil {
			t.Fatal(err)
		}
		both(t, cat, changed(fields, map[string]any{"payload": changed(sound, map[string]any{"user": ""}), "idempotencyKey": ""}), func(t *testing.T, _ *Record, checked Checked) {
			if got := checked.Faults.Error(); got != "idempotencyKey is not {payload.user}" {
				t.Errorf("got %q", got)
			}
		})
	})
	t.Run("a mistyped field is named once", func(t *testing.T) {
		rec, faults := DecodeRecord("box", "doc", changed(fields, map[string]any{"idempotencyKey": int64(7)}))
		if got := cat.Check(rec, faults).Faults.Error(); got != "idempotencyKey is an integer, want a string" {
			t.Errorf("got %q", got)
		}
	})
}
