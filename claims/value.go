package claims

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// decodeJSON reads one JSON value as Firestore's plain Go values, so that what
// comes from a payload and what was stored are alike: an integer is an int64.
func decodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return plain(v)
}

// plain renders what JSON or Firestore gave as nil, bool, int64, float64,
// string, []any and map[string]any, timestamps and bytes as an envelope does.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	case []byte:
		return base64.StdEncoding.EncodeToString(v), nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = plain(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			var err error
			if out[name], err = plain(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("a %T has no place in a claim", v)
}

// canonical renders v so that equal claims are equal texts: names are sorted,
// and numbers are what they are to JavaScript, which clients and Auth speak.
func canonical(v any) string {
	data, err := json.Marshal(v)
	if err == nil {
		var again any
		if err = json.Unmarshal(data, &again); err == nil {
			data, err = json.Marshal(again)
		}
	}
	if err != nil { // of no kind that plain returns
		return fmt.Sprintf("%#v", v)
	}
	return string(data)
}
