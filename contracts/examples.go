package contracts

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Examples returns the payloads that e's schema gives as examples, in the form of
// a record's payload. They are the caller's to change.
func (e *EventRoute) Examples() []map[string]any {
	if e.Schema == nil {
		return nil
	}
	var out []map[string]any
	for _, example := range e.Schema.Examples {
		value, bad := exact(variation{}.of(example))
		if payload, ok := value.(map[string]any); ok && bad == nil {
			out = append(out, payload)
		}
	}
	return out
}

// Each version of a sample aggregate has a day of its own, which a key may be made
// of, and which is the same whenever the sample is made.
var firstSampleDay = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// sampleDays is after how many versions the days come again.
const sampleDays = 10_000

// variation makes a payload of an example: each UUID another one, throughout the
// same, days and times the sample's. The zero value copies.
type variation struct {
	r   *rand.Rand
	day string
	now time.Time
	ids map[string]string // a UUID of the example, and what it became
}

var (
	exampleDay  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	exampleTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$`)
)

// of returns a variation of value, which is left as it is.
func (v variation) of(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) { // so that the same r gives the same
			out[name] = v.of(value[name])
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = v.of(item)
		}
		return out
	case string:
		if v.r != nil {
			return v.text(value)
		}
	}
	return value
}

func (v variation) text(s string) string {
	switch {
	case isUUID(s):
		if v.ids[s] == "" {
			v.ids[s] = randomUUID(v.r)
		}
		return v.ids[s]
	case exampleDay.MatchString(s):
		return v.day
	case exampleTime.MatchString(s):
		return v.now.Format(time.RFC3339)
	}
	return s
}

// path returns the path of the payload that t stands for, when it is nothing else.
func (t KeyTemplate) path() (string, bool) {
	inner, opens := strings.CutPrefix(string(t), "{"+payloadPrefix)
	inner, closes := strings.CutSuffix(inner, "}")
	return inner, opens && closes && !strings.ContainsAny(inner, "{}")
}

// provide sets the value at a path of payload, in objects that it makes where there are none.
func provide(payload map[string]any, path string, value any) {
	name, rest, deeper := strings.Cut(path, ".")
	for deeper {
		inside, ok := payload[name].(map[string]any)
		if !ok {
			inside = make(map[string]any)
			payload[name] = inside
		}
		payload = inside
		name, rest, deeper = strings.Cut(rest, ".")
	}
	payload[name] = value
}

// put sets the value at a path of payload, where there is something to set.
func put(payload map[string]any, path string, value any) {
	for {
		name, rest, deeper := strings.Cut(path, ".")
		if !deeper {
			payload[name] = value
			return
		}
		inside, ok := payload[name].(map[string]any)
		if !ok {
			return
		}
		payload, path = inside, rest
	}
}
