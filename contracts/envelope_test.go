package contracts

import (
	"encoding/json"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// referenceEnvelope is what encodeEnvelope must equal.
func referenceEnvelope(rec *Record) ([]byte, error) {
	payload, err := json.Marshal(rec.Payload)
	if err != nil {
		return nil, err
	}
	return json.Marshal(Envelope{
		EventID: rec.EventID, EventName: rec.EventType, EventVersion: rec.EventVersion,
		OccurredAt: rec.OccurredAt.UTC(), Producer: rec.Producer, TraceID: rec.TraceID,
		IdempotencyKey: rec.IdempotencyKey, AggregateID: rec.AggregateID,
		AggregateVersion: rec.AggregateVersion, Payload: payload,
	})
}

// loadOnce spares the tests from compiling the schemas again and again.
var loadOnce = sync.OnceValues(DefaultCatalog)

func defaultCatalog(tb testing.TB) *Catalog {
	tb.Helper()
	cat, err := loadOnce()
	if err != nil {
		tb.Fatal(err)
	}
	return cat
}

func TestEnvelopeEqualsEncodingJSON(t *testing.T) {
	at := time.Date(2026, 2, 19, 12, 0, 0, 120_000_000, time.UTC)
	cases := map[string]map[string]any{
		"empty payload":     {},
		"every kind":        {"n": nil, "t": true, "f": false, "i": int64(-7), "d": 1.5, "s": "x", "b": []byte{0, 255}, "at": at, "a": []any{int64(1), "two"}, "m": map[string]any{"k": "v"}},
		"largest integers":  {"max": int64(math.MaxInt64), "min": int64(math.MinInt64)},
		"floats":            {"a": 0.0, "b": math.Copysign(0, -1), "c": 1e21, "d": 1e-7, "e": 1.0, "f": 123456789.125, "g": math.MaxFloat64, "h": math.SmallestNonzeroFloat64, "i": 1e-10},
		"escapes":           {"html": `<a href="x">&</a>`, "control": "\x00\x1f\b\f\n\r\t\\\"\x7f", "separators": "\u2028\u2029"},
		"other scripts":     {"鍵": "值", "emoji": "🙂"},
		"keys to sort":      {"b": int64(1), "a": int64(2), "B": int64(3), "": int64(4)},
		"nil containers":    {"a": []any(nil), "m": map[string]any(nil), "b": []byte(nil)},
		"empty containers":  {"a": []any{}, "m": map[string]any{}, "b": []byte{}},
		"more than 16 keys": manyKeys(40),
	}
	for name, payload := range cases {
		t.Run(name, func(t *testing.T) {
			rec := &Record{
				EventID: "id", EventType: "Type<1>", EventVersion: 2, AggregateID: "a/b", AggregateVersion: 9, IdempotencyKey: "id:a/b:9",
				TraceID: "trace", Producer: `VS2 "account"`, OccurredAt: at, Payload: payload,
			}
			want, err := referenceEnvelope(rec)
			if err != nil {
				t.Fatal(err)
			}
			got, err := MarshalEnvelope(rec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func manyKeys(n int) map[string]any {
	m := make(map[string]any)
	for i := range n {
		m[string(rune('a'+i%26))+string(rune('a'+i/26))] = int64(i)
	}
	return m
}

func TestEnvelopeTimesAreUTC(t *testing.T) {
	zone := time.FixedZone("east", 8*3600)
	at := time.Date(2026, 2, 19, 20, 0, 0, 5, zone)
	data, err := MarshalEnvelope(&Record{OccurredAt: at, Payload: map[string]any{"at": at}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		OccurredAt string            `json:"occurred_at"`
		Payload    map[string]string `json:"payload"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := "2026-02-19T12:00:00.000000005Z"
	if got.OccurredAt != want || got.Payload["at"] != want {
		t.Errorf("occurred_at %s, payload %s, want %s", got.OccurredAt, got.Payload["at"], want)
	}
}

func TestMarshalEnvelopeRefusesWhatJSONCannotCarry(t *testing.T) {
	for name, payload := range map[string]map[string]any{
		"NaN":           {"x": math.NaN()},
		"infinity":      {"x": []any{math.Inf(-1)}},
		"invalid UTF-8": {"x": "\xff"},
		"a Go struct":   {"x": struct{}{}},
		"an int":        {"x": 1},
	} {
		t.Run(name, func(t *testing.T) {
			if data, err := MarshalEnvelope(&Record{Payload: payload}); err == nil {
				t.Errorf("got %s, want an error", data)
			}
		})
	}
	if _, err := MarshalEnvelope(&Record{OccurredAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("year 10000: want an error")
	}
}

// FuzzEnvelope compares the two encoders on whatever JSON holds, timestamps
// and bytes added.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,null,true,"x"],"m":{"k":"<&>"}}`), int64(0), "text")
	f.Add([]byte(`{"deep":{"deep":{"deep":[[[]]]}},"big":9223372036854775807,"small":1e-9}`), int64(1<<40), "\u2028")
	f.Add([]byte(`{}`), int64(-1), "\xff\xfe")
	f.Fuzz(func(t *testing.T, data []byte, seconds int64, text string) {
		payload, err := Fields(data)
		if err != nil {
			t.Skip()
		}
		payload["at"] = time.Unix(seconds%200_000_000_000, seconds&0xFFFF).UTC()
		payload["bytes"] = []byte(text)
		payload["text"] = text
		rec := &Record{EventID: text, TraceID: text, AggregateVersion: seconds, Payload: payload}
		want, err := referenceEnvelope(rec)
		if err != nil {
			t.Skip()
		}
		if got := encodeEnvelope(rec, 0); string(got) != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
