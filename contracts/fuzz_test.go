package contracts

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzRecordFields decodes records whose fields hold any value of any type that
// Firestore has; see judgeRecord for what must hold.
func FuzzRecordFields(f *testing.F) {
	cat := defaultCatalog(f)
	sound := soundFields(f)
	f.Add("accOutbox", []byte{})
	f.Add("wsOutbox", []byte("\x01\x05\x09\x0d\x11\x15\x19"))
	for kind := range byte(oddKinds) {
		f.Add("wsOutbox", []byte(strings.Repeat(string([]byte{1, kind}), 60)))
		f.Add("wsOutbox", append(make([]byte, 15), []byte(strings.Repeat(string([]byte{kind, 3}), 30))...))
	}
	names := append(RecordFields(), FieldAttemptErrors)
	f.Fuzz(func(t *testing.T, outbox string, data []byte) {
		s := &oddSource{data: data}
		fields := changed(sound, nil)
		for _, name := range names {
			switch s.next() % 4 {
			case 1:
				fields[name] = s.value(0)
			case 2:
				delete(fields, name)
			}
		}
		rec, faults := DecodeRecord(outbox, "doc", fields)
		judgeRecord(t, cat, rec, faults)
	})
}

// FuzzRecordJSON reads records from JSON, as a producer's tool gives them. One
// without faults becomes the same message when it is written and read again.
func FuzzRecordJSON(f *testing.F) {
	cat := defaultCatalog(f)
	sound, err := jsonOf(soundFields(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("accOutbox", sound)
	f.Add("wsOutbox", sound)
	f.Add("wsOutbox", bytes.Replace(sound, []byte(`"payload":{`), []byte(`"payload":{"wei":2.5e19,`), 1))
	f.Fuzz(func(t *testing.T, outbox string, data []byte) {
		rec, faults, err := DecodeJSON(outbox, "doc", data)
		if err != nil {
			if text := err.Error(); !utf8.ValidString(text) || len(text) > maxFaultBytes {
				t.Fatalf("an error of %d bytes: %.200q", len(text), text)
			}
			return
		}
		checked := judgeRecord(t, cat, rec, faults)
		if checked.Data == nil {
			return
		}
		again, err := jsonOf(rec.ProducerFields())
		if err != nil {
			t.Fatal(err)
		}
		same, faults, err := DecodeJSON(outbox, "doc", again)
		if err != nil || len(faults) > 0 {
			t.Fatalf("once written: %v, %v: %s", err, faults, again)
		}
		if diff := cmp.Diff(string(checked.Data), string(cat.Check(same, faults).Data)); diff != "" {
			t.Error(diff)
		}
	})
}

// maxFaultBytes is more than any fault says: paths have up to 20 keys of 100
// bytes, each of which may take four.
const maxFaultBytes = 12 << 10

// judgeRecord wants faults that are named, bounded and text, and of a record
// without them that it reads the same once it is written again.
func judgeRecord(t *testing.T, cat *Catalog, rec *Record, faults Faults) Checked {
	t.Helper()
	checked := cat.Check(rec, faults)
	if most := 100 + 3*(maxFieldFaults+1); len(checked.Faults) > most {
		t.Fatalf("%d faults", len(checked.Faults))
	}
	for _, f := range checked.Faults {
		if text := f.String(); f.Problem == "" || !utf8.ValidString(text) || len(text) > maxFaultBytes {
			t.Fatalf("a fault of %d bytes: %.200q", len(text), text)
		}
	}
	if (checked.Data == nil) != (len(checked.Faults) > 0) || !checked.Lane.Valid() || !checked.Tier.Valid() {
		t.Fatalf("faults %v, %d bytes of data, lane %q, tier %q", checked.Faults, len(checked.Data), checked.Lane, checked.Tier)
	}
	if checked.Data == nil {
		return checked
	}
	var envelope Envelope
	if err := json.Unmarshal(checked.Data, &envelope); err != nil || !utf8.Valid(checked.Data) {
		t.Fatalf("the envelope is not JSON: %v: %.200q", err, checked.Data)
	}
	if _, faults, err := DecodeEnvelope(checked.Data, nil); err != nil {
		t.Fatalf("a consumer cannot read it: %v, %v: %.200q", err, faults, checked.Data)
	}
	again, faults := DecodeRecord(rec.Outbox, rec.ID, rec.ProducerFields())
	relays := cmpopts.IgnoreFields(Record{}, "Status", "Attempts", "LastError", "NextAttemptAt", "DeliveredTargets", "AttemptErrors", "Fields")
	if diff := cmp.Diff(rec, again, relays, cmpopts.EquateNaNs()); diff != "" || len(faults) > 0 {
		t.Fatalf("once written: %v\n%s", faults, diff)
	}
	if diff := cmp.Diff(string(checked.Data), string(cat.Check(again, nil).Data)); diff != "" {
		t.Fatal(diff)
	}
	return checked
}

// oddSource makes values of bytes. Without bytes left they are null.
type oddSource struct{ data []byte }

func (s *oddSource) next() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

const (
	oddKinds = 9
	oddDepth = 30 // deeper than a payload may be
)

func (s *oddSource) value(depth int) any {
	switch s.next() % oddKinds {
	case 1:
		return s.next()%2 == 0
	case 2:
		return []int64{0, 1, 7, -1, math.MaxInt64, math.MinInt64}[s.next()%6]
	case 3:
		return []float64{0, 1, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, 1e21, 1e19}[s.next()%9]
	case 4:
		return s.text()
	case 5:
		return []byte(s.text())
	case 6:
		return []time.Time{{}, time.Unix(0, 0).UTC(), sampleTime, time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}[s.next()%5]
	case 7:
		items := make([]any, 0)
		for range s.many(depth) {
			items = append(items, s.value(depth+1))
		}
		return items
	case 8:
		fields := make(map[string]any)
		for range s.many(depth) {
			fields[s.text()] = s.value(depth + 1)
		}
		return fields
	}
	return nil
}

// many is how many elements a list or a map has: few, as they may nest.
func (s *oddSource) many(depth int) int {
	n := int(s.next())
	switch {
	case depth > oddDepth:
		return 0
	case depth == 1 && n > 250:
		return 500 // more than faults are named
	}
	return n % 4
}

func (s *oddSource) text() string {
	odd := []string{
		"", "x", "acc-1", "pending", "CRITICAL_LANE", "SAFE_AUTO", "WalletDeducted", "time", "attempt", "message", "\xff", "\x00", "\u2028", "<&>", "a.b", `"`,
		strings.Repeat("k", 1025), strings.Repeat("plain", 300), strings.Repeat("\xfe", 1500), strings.Repeat("ö", 1000),
	}
	n := int(s.next())
	if n >= 2*len(odd) {
		return string(rune(n)) + string([]byte{s.next(), s.next()})
	}
	return odd[n%len(odd)]
}
