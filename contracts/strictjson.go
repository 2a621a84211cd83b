package contracts

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf16"
)

// StrictJSON refuses what encoding/json reads as something else than what was written: of a key that
// stands twice in an object it takes the last, and of half a surrogate pair, such as "\ud83d", it makes
// U+FFFD. The error names the first such place. data is JSON in UTF-8, as the caller has found.
func StrictJSON(data []byte) error {
	s := strictScan{decoder: json.NewDecoder(bytes.NewReader(data))}
	s.decoder.UseNumber()
	for {
		from := s.decoder.InputOffset()
		token, err := s.decoder.Token()
		if err != nil {
			return nil //nolint:nilerr // the end
		}
		if bad := s.take(token, data[from:s.decoder.InputOffset()]); bad != "" {
			return s.misfit(bad)
		}
	}
}

// strictScan is what a walk through JSON is within, the outermost first.
type strictScan struct {
	decoder *json.Decoder
	within  []container
}

// container is an object or an array, and where in it the walk stands.
type container struct {
	at    step
	keys  map[string]bool // of an object, those that stood already
	value bool            // the key before it was read
}

// take goes on by a token, which is written so, and says what is wrong with it.
func (s *strictScan) take(token json.Token, written []byte) (problem string) {
	switch token {
	case json.Delim('{'):
		s.within = append(s.within, container{keys: make(map[string]bool)})
		return ""
	case json.Delim('['):
		s.within = append(s.within, container{at: step{inArray: true}})
		return ""
	case json.Delim('}'), json.Delim(']'):
		s.within = s.within[:len(s.within)-1]
		s.passed()
		return ""
	}
	text, isText := token.(string)
	if n := len(s.within); n > 0 && !s.within[n-1].at.inArray && !s.within[n-1].value {
		in := &s.within[n-1]
		again := in.keys[text]
		in.at.key, in.keys[text], in.value = text, true, true
		if again {
			return "stands twice"
		}
		if halfPair(written) {
			return "is a key with half a surrogate pair, which is no character"
		}
		return ""
	}
	if isText && halfPair(written) {
		return "holds half a surrogate pair, which is no character"
	}
	s.passed()
	return ""
}

// passed notes the end of a value.
func (s *strictScan) passed() {
	if n := len(s.within); n > 0 {
		s.within[n-1].value = false
		s.within[n-1].at.index++
	}
}

func (s *strictScan) misfit(problem string) *misfit {
	bad := &misfit{problem: problem}
	for _, c := range slices.Backward(s.within) {
		bad = bad.within(c.at)
	}
	return bad
}

// halfPair reports whether a text escapes one half of a surrogate pair without the other.
func halfPair(written []byte) bool {
	for {
		i := bytes.IndexByte(written, '\\')
		if i < 0 {
			return false
		}
		if written = written[i+1:]; written[0] != 'u' {
			written = written[1:]
			continue
		}
		first := escaped(written)
		written = written[len("u0000"):]
		switch {
		case !utf16.IsSurrogate(first):
		case bytes.HasPrefix(written, []byte(`\u`)) && utf16.DecodeRune(first, escaped(written[1:])) != '\uFFFD':
			written = written[len(`\u0000`):]
		default:
			return true
		}
	}
}

// escaped is the unit of UTF-16 of u0000.
func escaped(written []byte) rune {
	unit, _ := strconv.ParseUint(string(written[1:5]), 16, 16)
	return rune(unit)
}
