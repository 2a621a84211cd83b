package contracts

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// payloadScan looks for what JSON cannot carry.
type payloadScan struct {
	faults  Faults
	more    int    // faults beyond maxFieldFaults
	steps   []step // where the walk stands, below payload
	sorted  bool   // a map is walked by its keys' order, which takes longer
	foreign bool   // some value is a timestamp or bytes, which only Firestore has
	size    int    // bytes of the payload as JSON, roughly
}

func scanPayload(payload map[string]any) *payloadScan {
	s := &payloadScan{steps: make([]step, 0, 8)}
	s.walkMap(payload)
	if len(s.faults) > 0 { // once more, so that the same faults are told alike
		*s = payloadScan{steps: s.steps, sorted: true}
		s.walkMap(payload)
	}
	if s.more > 0 {
		s.faults = append(s.faults, moreFaults(FieldPayload, s.more))
	}
	return s
}

func moreFaults(field string, n int) Fault { return Fault{field, fmt.Sprintf("has %d more faults", n)} }

func (s *payloadScan) fault(problem string) {
	if len(s.faults) >= maxFieldFaults {
		s.more++
		return
	}
	at := jsonPath(FieldPayload)
	for _, st := range s.steps {
		at = at.then(st)
	}
	s.faults = append(s.faults, Fault{string(at), problem})
}

func (s *payloadScan) walk(v any) {
	s.size += 8
	switch v := v.(type) {
	case nil, bool, int64:
	case string:
		s.size += len(v)
		if !utf8.ValidString(v) {
			s.fault("is not valid UTF-8")
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			s.fault("is not a finite number")
		}
	case time.Time:
		s.foreign = true
		s.size += len(time.RFC3339Nano)
		if !jsonTime(v) {
			s.fault("is a timestamp outside the years 0 to 9999")
		}
	case []byte:
		s.foreign = true
		s.size += base64.StdEncoding.EncodedLen(len(v))
	case map[string]any:
		if s.deep() {
			return
		}
		s.walkMap(v)
	case []any:
		if s.deep() {
			return
		}
		for i, item := range v {
			s.steps = append(s.steps, step{index: i, inArray: true})
			s.walk(item)
			s.steps = s.steps[:len(s.steps)-1]
		}
	default:
		s.fault(fmt.Sprintf("is a %T, which JSON cannot carry", v))
	}
}

func (s *payloadScan) walkMap(m map[string]any) {
	if s.sorted {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			s.walkField(key, m[key])
		}
		return
	}
	for key, v := range m {
		s.walkField(key, v)
	}
}

func (s *payloadScan) walkField(key string, v any) {
	s.steps = append(s.steps, step{key: key})
	s.size += len(key) + 4
	if !utf8.ValidString(key) {
		s.fault("has a key that is not valid UTF-8")
	}
	s.walk(v)
	s.steps = s.steps[:len(s.steps)-1]
}

// deep names a container that lies too deep, which is then not entered.
func (s *payloadScan) deep() bool {
	if len(s.steps) <= MaxPayloadDepth {
		return false
	}
	s.fault(fmt.Sprintf("lies deeper than %d levels", MaxPayloadDepth))
	return true
}

// jsonTime reports whether RFC 3339 can carry t.
func jsonTime(t time.Time) bool { y := t.UTC().Year(); return y >= 0 && y <= 9999 }

// jsonForm returns v as JSON has it: timestamps and bytes become the strings
// that they are in the envelope. v itself is not changed.
func jsonForm(v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = jsonForm(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = jsonForm(item)
		}
		return out
	}
	return v
}
