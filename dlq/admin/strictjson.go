package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and lists stand in each other.
const maxDepth = 8

// checkJSON refuses what encoding/json lets pass though it may mean another
// thing to somebody else: names that come twice, null, text that is no UTF-8, and
// anything after the value. A filter with "group": null would select everything.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("it is not text in UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := checkValue(decoder, "it", 0); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands after the JSON value")
	}
	return nil
}

func checkValue(d *json.Decoder, name string, depth int) error {
	token, err := d.Token()
	if err != nil {
		return notJSON(err)
	}
	switch token {
	case nil:
		return fmt.Errorf("%s is null: leave it out", name)
	case json.Delim('{'), json.Delim('['):
	default:
		return nil
	}
	if depth == maxDepth {
		return fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	object := token == json.Delim('{')
	seen := make(map[string]bool)
	for d.More() {
		if object {
			key, err := d.Token()
			if err != nil {
				return notJSON(err)
			}
			name, _ = key.(string) // the decoder has checked that
			if seen[folded(name)] {
				return fmt.Errorf("%q stands twice", name)
			}
			seen[folded(name)] = true
			name = fmt.Sprintf("%q", name)
		}
		if err := checkValue(d, name, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return notJSON(err)
	}
	return nil
}

// folded is the same for all names that encoding/json takes for one: of each letter the
// least of its forms.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, name)
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is not JSON: it ends too early")
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON: %w at byte %d", syntax, syntax.Offset)
	}
	return fmt.Errorf("it is not JSON: %w", err)
}
