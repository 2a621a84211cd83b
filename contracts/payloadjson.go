package contracts

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// PayloadWriter writes a payload as its envelope has it, for Record.PayloadJSON: it
// is for decoders that have no use for the payload as a map. Who writes keeps to what
// JSON can carry: text is UTF-8, numbers are finite, times lie in the years 0 to 9999,
// nothing is deeper than MaxPayloadDepth. Keys come in the order of their bytes, each
// once. The zero value is ready. Marks and commas are the caller's.
type PayloadWriter struct{ b []byte }

// Bytes returns what was written since the last Reset. They are good until the next.
func (w *PayloadWriter) Bytes() []byte { return w.b }

// Reset starts anew, in the same memory.
func (w *PayloadWriter) Reset() { w.b = w.b[:0] }

// Mark writes one of { } [ ] , and :.
func (w *PayloadWriter) Mark(c byte) { w.b = append(w.b, c) }

// Null writes null.
func (w *PayloadWriter) Null() { w.b = append(w.b, "null"...) }

// Bool writes true or false.
func (w *PayloadWriter) Bool(v bool) { w.b = strconv.AppendBool(w.b, v) }

// Int writes an integer.
func (w *PayloadWriter) Int(v int64) { w.b = strconv.AppendInt(w.b, v, 10) }

// Float writes a finite number.
func (w *PayloadWriter) Float(v float64) { w.b = appendFloat(w.b, v) }

// Text writes a string, or a key, given as UTF-8.
func (w *PayloadWriter) Text(s []byte) { w.b = appendString(w.b, s) }

// Time writes a timestamp.
func (w *PayloadWriter) Time(t time.Time) { w.b = appendTime(w.b, t) }

// Binary writes bytes, as base64.
func (w *PayloadWriter) Binary(v []byte) {
	w.b = append(w.b, '"')
	w.b = base64.StdEncoding.AppendEncode(w.b, v)
	w.b = append(w.b, '"')
}

// payloadReader reads what a PayloadWriter wrote, and nothing else: it looks for no
// mistakes.
type payloadReader struct {
	s string
	i int
}

// readPayload returns a payload as a JSON Schema judges it.
func readPayload(written string) any {
	r := payloadReader{s: written}
	return r.value()
}

func (r *payloadReader) value() any {
	switch r.s[r.i] {
	case '{':
		m := make(map[string]any)
		for r.i++; r.s[r.i] != '}'; {
			r.skip(',')
			key := r.text()
			r.i++ // the colon
			m[key] = r.value()
		}
		r.i++
		return m
	case '[':
		list := []any{}
		for r.i++; r.s[r.i] != ']'; {
			r.skip(',')
			list = append(list, r.value())
		}
		r.i++
		return list
	case '"':
		return r.text()
	case 'n':
		r.i += len("null")
		return nil
	case 't':
		r.i += len("true")
		return true
	case 'f':
		r.i += len("false")
		return false
	}
	return r.number()
}

func (r *payloadReader) skip(c byte) {
	if r.s[r.i] == c {
		r.i++
	}
}

func (r *payloadReader) text() string {
	start, escaped := r.i, false
	for r.i++; r.s[r.i] != '"'; r.i++ {
		if r.s[r.i] == '\\' {
			escaped = true
			r.i++
		}
	}
	r.i++
	if !escaped {
		return r.s[start+1 : r.i-1]
	}
	s, _ := strconv.Unquote(r.s[start:r.i]) // every escape that is written is one of Go's too
	return s
}

// number returns an integer or, where it is none of 64 bits, a float.
func (r *payloadReader) number() any {
	start := r.i
	for r.i < len(r.s) && strings.IndexByte(",}]", r.s[r.i]) < 0 {
		r.i++
	}
	if n, err := strconv.ParseInt(r.s[start:r.i], 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(r.s[start:r.i], 64)
	return f
}
