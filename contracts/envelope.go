package contracts

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// envelopeRoom is for the envelope's own names and marks.
const envelopeRoom = 256

// encodeEnvelope returns rec's envelope. It writes the very bytes that
// json.Marshal makes of an Envelope, in less than half the time. The payload
// must be one that JSON can carry, and payloadSize its size, roughly; see
// scanPayload.
func encodeEnvelope(rec *Record, payloadSize int) []byte {
	b := make([]byte, 0, envelopeRoom+payloadSize+len(rec.EventID)+len(rec.EventType)+len(rec.Producer)+
		len(rec.TraceID)+len(rec.IdempotencyKey)+len(rec.AggregateID))
	b = append(b, `{"event_id":`...)
	b = appendString(b, rec.EventID)
	b = append(b, `,"event_name":`...)
	b = appendString(b, rec.EventType)
	b = append(b, `,"event_version":`...)
	b = strconv.AppendInt(b, rec.EventVersion, 10)
	b = append(b, `,"occurred_at":`...)
	b = appendTime(b, rec.OccurredAt)
	b = append(b, `,"producer":`...)
	b = appendString(b, rec.Producer)
	b = append(b, `,"trace_id":`...)
	b = appendString(b, rec.TraceID)
	b = append(b, `,"idempotency_key":`...)
	b = appendString(b, rec.IdempotencyKey)
	b = append(b, `,"aggregate_id":`...)
	b = appendString(b, rec.AggregateID)
	b = append(b, `,"aggregate_version":`...)
	b = strconv.AppendInt(b, rec.AggregateVersion, 10)
	b = append(b, `,"payload":`...)
	if rec.PayloadJSON != "" {
		b = append(b, rec.PayloadJSON...)
	} else {
		b = appendMap(b, rec.Payload)
	}
	return append(b, '}')
}

// appendValue appends one of the values that a payload may hold.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendFloat(b, v)
	case string:
		return appendString(b, v)
	case time.Time:
		return appendTime(b, v)
	case []byte:
		if v == nil {
			return append(b, "null"...)
		}
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v)
		return append(b, '"')
	case []any:
		return appendArray(b, v)
	case map[string]any:
		return appendMap(b, v)
	}
	return append(b, "null"...)
}

func appendArray(b []byte, items []any) []byte {
	if items == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, item)
	}
	return append(b, ']')
}

// appendMap appends m with its keys sorted, so that a record's envelope is the
// same bytes on every attempt.
func appendMap(b []byte, m map[string]any) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	var room [16]string // most payloads need no more
	keys := room[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, k)
		b = append(b, ':')
		b = appendValue(b, m[k])
	}
	return append(b, '}')
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// appendFloat writes a float as JavaScript does: the shortest form, with an
// exponent only for what is very small or very large.
func appendFloat(b []byte, f float64) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1] // e-09 becomes e-9
		b = b[:n-1]
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendString quotes s. Like json.Marshal it escapes what HTML or JavaScript
// could take amiss, and replaces what is not UTF-8.
func appendString[S ~string | ~[]byte](b []byte, s S) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plainByte[c] {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xF])
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// plainByte holds the ASCII characters that need no escape.
var plainByte = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return t
}()
