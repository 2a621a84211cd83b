package postgres

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxFraction is how many digits behind the point jsonb takes of a number.
const maxFraction = 16383

// maxDepth bounds objects and arrays within each other. Postgres takes some thousands, as its stack
// allows, and readers in other languages less.
const maxDepth = 200

// dataOf is the JSON of an event's data, and why jsonb would refuse it or store something else.
func dataOf(v any) (data json.RawMessage, problems []string) {
	if v == nil {
		return json.RawMessage("{}"), nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, []string{"is not to be made JSON: " + err.Error()}
	}
	if !utf8.Valid(data) { // of a json.RawMessage Marshal checks the form alone
		problems = append(problems, "is not valid UTF-8")
	}
	if data[0] != '{' {
		return nil, append(problems, "is "+kind(data[0])+", want a JSON object")
	}
	s := scanner{decoder: json.NewDecoder(bytes.NewReader(data))}
	s.decoder.UseNumber()
	s.value(1)
	return data, append(append(problems, escapes(data)...), s.problems...)
}

func kind(first byte) string {
	switch first {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// escapes finds what a JSON text may hold and jsonb may not. The text is valid JSON, so that
// every backslash is one of a string.
func escapes(text []byte) (problems []string) {
	var zero, lone bool
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		code := hex(text[i+1:])
		i += 4
		switch {
		case code == 0:
			zero = true
		case code >= 0xD800 && code < 0xDC00:
			if i+6 < len(text) && text[i+1] == '\\' && text[i+2] == 'u' && hex(text[i+3:])&0xFC00 == 0xDC00 {
				i += 6
			} else {
				lone = true
			}
		case code >= 0xDC00 && code < 0xE000:
			lone = true
		}
	}
	if zero {
		problems = append(problems, "holds the character U+0000, which Postgres does not store")
	}
	if lone {
		problems = append(problems, "holds half of a surrogate pair, which Postgres does not store")
	}
	return problems
}

func hex(digits []byte) uint64 {
	code, _ := strconv.ParseUint(string(digits[:4]), 16, 32) // valid JSON has four
	return code
}

// scanner looks for numbers and shapes that jsonb does not take, or changes. It names each kind once.
type scanner struct {
	decoder  *json.Decoder
	problems []string
}

func (s *scanner) problem(text string) {
	if !slices.Contains(s.problems, text) {
		s.problems = append(s.problems, text)
	}
}

// value reads one, and says whether there was any. The text is valid JSON: only its end is an error.
func (s *scanner) value(depth int) {
	token, err := s.decoder.Token()
	if err != nil {
		return
	}
	switch token := token.(type) {
	case json.Number:
		if problem := numberProblem(token.String()); problem != "" {
			s.problem(problem)
		}
	case json.Delim:
		if depth > maxDepth {
			s.problem(fmt.Sprintf("lies deeper than %d levels", maxDepth))
		}
		names := map[string]bool{}
		for s.decoder.More() {
			if token == '{' {
				name, _ := s.decoder.Token()
				text, _ := name.(string)
				if names[text] {
					s.problem("has an object with a key twice, of which jsonb keeps one")
				}
				names[text] = true
			}
			s.value(depth + 1)
		}
		_, _ = s.decoder.Token() // its end
	}
}

// numberProblem says why a number would not arrive as it was given; "": it does. jsonb writes 1e30 with
// all its digits, and readers take what has no fraction for an integer of 64 bits.
func numberProblem(number string) string {
	whole, fraction := digits(number)
	if fraction > maxFraction {
		return fmt.Sprintf("holds a number of more than %d digits behind the point, which jsonb does not store", maxFraction)
	}
	if fraction > 0 {
		if _, err := strconv.ParseFloat(number, 64); err != nil {
			return "holds a number beyond a double's range: write it as a string"
		}
		return ""
	}
	const longest = 19 // digits of the largest integer
	if exact, ok := new(big.Rat), whole <= longest; ok {
		if _, ok = exact.SetString(number); ok && exact.IsInt() && exact.Num().IsInt64() {
			return ""
		}
	}
	return "holds a whole number beyond 64 bits: write it as a string"
}

// digits counts those of a JSON number before and behind the point, once it is written without
// an exponent, as jsonb does.
func digits(number string) (whole, fraction int) {
	mantissa, exponent := strings.TrimPrefix(number, "-"), 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(mantissa[i+1:]); err != nil || max(exponent, -exponent) > 1e6 {
			return math.MaxInt32, math.MaxInt32
		}
		mantissa = mantissa[:i]
	}
	before, behind, _ := strings.Cut(mantissa, ".")
	return max(1, len(before)+exponent), max(0, len(behind)-exponent)
}

// storedSize bounds the text that the database makes of JSON: it writes numbers without exponents,
// and a space behind each colon and comma. The text is valid JSON.
func storedSize(text []byte) int {
	size, quoted := len(text), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == ':' || c == ',':
			size++
		case c == '-' || c >= '0' && c <= '9':
			from := i
			for i+1 < len(text) && strings.IndexByte("0123456789+-.eE", text[i+1]) >= 0 {
				i++
			}
			whole, fraction := digits(string(text[from : i+1]))
			size += max(0, whole+fraction+2-(i+1-from))
		}
	}
	return size
}
