package contracts

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
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

// readPayload returns what a PayloadWriter wrote as a JSON Schema judges it.
func readPayload(written string) (any, error) {
	return jsonschema.UnmarshalJSON(strings.NewReader(written))
}
