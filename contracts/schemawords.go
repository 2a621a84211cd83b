package contracts

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// SchemaWord is a word in a schema that what producers in other languages check with takes otherwise
// than the relay: JSON Schema does not know it, or its number is not one of theirs.
type SchemaWord struct {
	Place   string // the file, and within it a JSON pointer
	Problem string
	Remedy  string
}

// schemaWords are the words that ajv acts on, which no option of it changes.
var schemaWords = []struct{ word, problem, remedy string }{
	{"nullable", "no word of JSON Schema: null is refused all the same", `write "type": ["string", "null"], or whichever type it is, or anyOf with {"type": "null"}`},
	{"$async", "no word of JSON Schema: it says nothing of a payload", "remove it"},
	{"id", "no word of JSON Schema since draft 6: it names nothing", "write $id, or remove it"},
}

// SchemaWords lists what in schemas, and in all that they refer to, is judged differently by a
// producer's library. files holds the text of their files by path, as Catalog.SchemaFiles does.
func SchemaWords(files map[string][]byte, schemas ...*jsonschema.Schema) []SchemaWord {
	var out []SchemaWord
	docs := make(map[string]any)
	for _, s := range SchemasWithin(schemas...) {
		written, _ := SchemaAsWritten(files, docs, s).(map[string]any)
		place := strings.TrimSuffix(strings.TrimPrefix(s.Location, schemaScheme), "#")
		for _, w := range schemaWords {
			if v, there := written[w.word]; there && v != nil && s.DraftVersion != 4 { // whose id is one
				out = append(out, SchemaWord{place, fmt.Sprintf("%q is %s", w.word, w.problem), w.remedy})
			}
		}
		out = append(out, schemaNumbers(place, written)...)
	}
	return out
}

// SchemaAsWritten returns a compiled schema as its file has it, with the annotations that
// compiling leaves out; nil where it is in no such file. read keeps what was read for the next
// call.
func SchemaAsWritten(files map[string][]byte, read map[string]any, s *jsonschema.Schema) any {
	location, pointer, _ := strings.Cut(s.Location, "#")
	name, ok := strings.CutPrefix(location, schemaScheme)
	if !ok {
		return nil
	}
	at, known := read[name]
	if !known {
		at, _ = jsonschema.UnmarshalJSON(bytes.NewReader(files[name])) // which was compiled, and so is JSON
		read[name] = at
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		switch within := at.(type) {
		case map[string]any:
			at = within[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(within) {
				return nil
			}
			at = within[i]
		default:
			return nil
		}
	}
	return at
}
