package claims

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// decodeJSON reads one JSON value as Firestore's plain Go values, so that what
// comes from a payload and what was stored are alike: an integer is an int64.
func decodeJSON(data []byte) (any, error) {
	var v any
	if err := decode(data, &v); err != nil {
		return nil, err
	}
	return plain(v)
}

// decode reads one JSON value, whose numbers stay as they are written.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// DecodeClaims reads a user's custom claims from JSON. Each number is a
// json.Number, as it is written: claims of others may have ones that no float64
// holds.
func DecodeClaims(data []byte) (claims map[string]any, err error) {
	err = decode(data, &claims)
	return claims, err
}

// EncodeClaims renders custom claims as JSON, without escapes that JSON does not
// need, as they would count against Firebase's limit.
func EncodeClaims(claims map[string]any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(claims)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
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
	case error: // why a field cannot be read
		return nil, v
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

// canonical renders v so that equal claims are equal texts: names are sorted, and
// each number is written in one way.
func canonical(v any) string {
	data, err := json.Marshal(v)
	if err == nil {
		var again any
		if err = decode(data, &again); err == nil {
			data, err = json.Marshal(oneWay(again))
		}
	}
	if err != nil { // of no kind that plain returns
		return fmt.Sprintf("%#v", v)
	}
	return string(data)
}

// oneWay puts numbers in the form that Go and JavaScript write them in. An integer
// or a magnitude that no float64 holds stays as it is.
func oneWay(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
	case []any:
		for i := range v {
			v[i] = oneWay(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = oneWay(v[name])
		}
	}
	return v
}
