package contracts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// 64 bits cannot hold is an error. A payload has no timestamps and no bytes,
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
	for key, v := range fields {
		var err error
		if fields[key], err = exact(v, jsonPath("").key(key)); err != nil {
			return nil, fmt.Errorf("decode record: %w", err)
		}
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
func exact(v any, at jsonPath) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return exactNumber(v, at)
	case map[string]any:
		for k, item := range v {
			if v[k], err = exact(item, at.key(k)); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range v {
			if v[i], err = exact(item, at.index(i)); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func exactNumber(n json.Number, at jsonPath) (any, error) {
	if !strings.ContainsAny(n.String(), ".eE") {
		i, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s does not fit into 64 bits", at)
		}
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s does not fit into a double", at)
	}
	return f, nil
}
