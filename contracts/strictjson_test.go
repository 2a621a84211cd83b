package contracts

import (
	"strings"
	"testing"
)

// What a reader would take for something else than what is written is named by its place.
func TestStrictJSON(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"twice":             {`{"a": 1, "b": 2, "a": 1}`, "a stands twice"},
		"written otherwise": {`{"a": 1, "\u0061": 1}`, "a stands twice"},
		"empty, twice":      {`{"": 1, "": 1}`, `[""] stands twice`},
		"deep":              {`{"x": {"a": 1}, "payload": {"n": [1, {"a": {}}, {"a": [[]], "b c": {"d": 1, "d": 2}}]}}`, `payload.n[2]["b c"].d stands twice`},
		"in a list":         {`[[], {"a": 1}, {"a": 1, "a": 2}]`, "[2].a stands twice"},
		"a high half":       {`{"a": "\ud83d"}`, "a holds half a surrogate pair"},
		"a low half":        {`{"a": [true, "x\\\ude00\ud83d"]}`, "a[1] holds half a surrogate pair"},
		"two high halves":   {`{"a": "\ud83d\ud83d\ude00"}`, "a holds half a surrogate pair"},
		"half and escape":   {`{"a": "\ud83d\n"}`, "a holds half a surrogate pair"},
		"in a key":          {`{"a": {"\uD83D": 1}}`, "is a key with half a surrogate pair"},
		"too deep to tell":  {strings.Repeat(`{"`+strings.Repeat("k", 60)+`":`, 5000) + `{"a": 1, "a": 1}` + strings.Repeat("}", 5000), "... stands twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := StrictJSON([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > maxFaultBytes {
				t.Errorf("got %.300v, want %q", err, c.want)
			}
		})
	}
	for _, sound := range []string{
		`{"a": 1, "A": 2, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}, "a", "a"], "d": "a", "a.b": 1}`, `"\\ud83d \ud83d\ude00 \u0061 \" \uFFFD"`, `{}`, `[]`, `null`, `1e999`, ` [ 1 , "" , { } ] `,
	} {
		if err := StrictJSON([]byte(sound)); err != nil {
			t.Errorf("%s: %v", sound, err)
		}
	}
}
