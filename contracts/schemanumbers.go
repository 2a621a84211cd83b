package contracts

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
)

// numberWords are the words by whose numbers a schema judges, in the order in which they are told.
var numberWords = []string{"const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}

// schemaNumbers lists the words of one schema, as it is written, that hold a number which
// JavaScript reads as another one: of each word the first.
func schemaNumbers(place string, written map[string]any) (out []SchemaWord) {
	for _, word := range numberWords {
		if n, read := misreadNumber(written[word]); n != "" {
			out = append(out, SchemaWord{
				place,
				fmt.Sprintf("%q holds %s, which JavaScript reads as %s: a producer there judges otherwise than the relay", word, n, read),
				"write one that it has, or let the payload have it as a text",
			})
		}
	}
	return out
}

// misreadNumber finds within v a number that is not the shortest text of a double, which is how the
// relay has a producer's double, and says what JavaScript has in its place.
func misreadNumber(v any) (n json.Number, read string) {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(v.String(), 64) // infinite where it is out of range
		if math.IsInf(f, 0) {
			return v, "infinite"
		}
		read = string(appendFloat(nil, f))
		exact, ok := new(big.Rat).SetString(v.String())
		if double, _ := new(big.Rat).SetString(read); !ok || exact.Cmp(double) != 0 {
			return v, read
		}
	case []any:
		for _, item := range v {
			if n, read := misreadNumber(item); n != "" {
				return n, read
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if n, read := misreadNumber(v[name]); n != "" {
				return n, read
			}
		}
	}
	return "", ""
}
