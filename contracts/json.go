package contracts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// timestampFields are the fields of a record that hold a timestamp.
var timestampFields = []string{FieldOccurredAt, FieldCreatedAt, FieldNextAttemptAt, FieldDeliveredAt, FieldExpireAt}

// DecodeJSON is DecodeRecord for a record given as a JSON object; see Fields
// for its form. The error is for data that is no such object.
func DecodeJSON(outbox, id string, data []byte) (*Record, Faults, error) {
	fields, err := Fields(data)
	if err != nil {
		return nil, nil, err
	}
	rec, faults := DecodeRecord(outbox, id, fields)
	return rec, faults, nil
}

// Fields reads a record's fields from a JSON object. Timestamps are RFC 3339
// strings; one that is not stays a string, which DecodeRecord names. A number
// without fraction or exponent is an integer and keeps every digit; one that
// 64 bits cannot hold is an error, unless it is a double's shortest text, as
// 25000000000000000000 is. A payload has no timestamps and no bytes,
// since JSON has none.
func Fields(data []byte) (map[string]any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("decode record: not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("decode record: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode record: more than one JSON value")
	}
	fields, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("decode record: not a JSON object")
	}
	if _, bad := exact(fields); bad != nil {
		return nil, fmt.Errorf("decode record: %w", bad)
	}
	for _, name := range timestampFields {
		parseTimestamp(fields, name)
	}
	errs, _ := fields[FieldAttemptErrors].([]any)
	for _, e := range errs {
		if m, ok := e.(map[string]any); ok {
			parseTimestamp(m, AttemptFieldTime)
		}
	}
	return fields, nil
}

// parseTimestamp replaces a string that is a timestamp by its time.
func parseTimestamp(fields map[string]any, name string) {
	s, ok := fields[name].(string)
	if !ok {
		return
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		fields[name] = t.UTC()
	}
}

// exact replaces the numbers within v by int64 and float64, in place.
func exact(v any) (any, *misfit) {
	var bad *misfit
	switch v := v.(type) {
	case json.Number:
		return exactNumber(v.String())
	case map[string]any:
		for k, item := range v {
			if v[k], bad = exact(item); bad != nil {
				return nil, bad.within(step{key: k})
			}
		}
	case []any:
		for i, item := range v {
			if v[i], bad = exact(item); bad != nil {
				return nil, bad.within(step{index: i, inArray: true})
			}
		}
	}
	return v, nil
}

// exactNumber reads a number. One without fraction or exponent is an integer, or, where 64 bits
// have no room for it, the double that is written so: see appendFloat.
func exactNumber(text string) (any, *misfit) {
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil && string(appendFloat(nil, f)) == text {
			return f, nil
		}
		return nil, &misfit{problem: "does not fit into 64 bits"}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, &misfit{problem: "does not fit into a double"}
	}
	return f, nil
}

// misfit is a number that has no room in a record, and the way to it. The way is told as the
// search ends, from within: a path of each value on the search would cost a deep body more than
// all else.
type misfit struct {
	problem string
	steps   []step // the innermost first
}

func (m *misfit) within(s step) *misfit {
	m.steps = append(m.steps, s)
	return m
}

// shownSteps bounds the path of a misfit.
const shownSteps = 20

func (m *misfit) Error() string {
	var at jsonPath
	for i, s := range slices.Backward(m.steps) {
		if len(m.steps)-i > shownSteps {
			at += "..."
			break
		}
		at = at.then(s)
	}
	return string(at) + " " + m.problem
}
