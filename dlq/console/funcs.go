package console

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"outboxrelay/dlq"
)

// funcs are what templates can call.
var funcs = template.FuncMap{
	"asset":     assetURL,
	"to":        pathTo,
	"at":        at,
	"spelled":   spelled,
	"beginning": beginning,
	"moment":    func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"utc":       func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"shell":     shell,
	"lower":     strings.ToLower,
	"join":      strings.Join,
	"some":      some,
	"given":     given,
	"versioned": versioned,
	"plural":    plural,
	"dict":      dict,
	"thousands": thousands,
	"howMany":   howMany,
	"visible":   apart,
	"plain":     visible, // where there are no elements

	"freezeName": dlq.FreezeName,
	"letterName": dlq.LetterName,
}

// pathTo joins segments of a path below Prefix, each escaped.
func pathTo(segments ...string) string {
	var p strings.Builder
	p.WriteString(Prefix)
	for _, s := range segments {
		p.WriteString("/" + url.PathEscape(s))
	}
	return p.String()
}

// at is the address of a screen with a query of names and values; those without
// a value are left out.
func at(path string, pairs ...string) string {
	query := make(url.Values)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return address(path, query)
}

// spelled makes a word of the API's one of people's: "awaiting review".
func spelled(word any) string { return visible(strings.ReplaceAll(fmt.Sprint(word), "_", " ")) }

// beginning is as much of a text as people read by the way.
func beginning(text string) string {
	if len(text) <= maxBeginning {
		return text
	}
	return brief(text, maxBeginning)
}

// maxBeginning bounds a beginning, in bytes.
const maxBeginning = 300

// shell quotes words for a shell, so that a command can be pasted.
func shell(words ...string) string {
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+", r)
		}) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// flag is a flag of a command, with its value.
type flag struct{ name, value string }

// shellWith is shell of words and those flags that have a value; "" where one cannot
// be pasted safely.
func shellWith(words []string, flags []flag) string {
	for _, f := range flags {
		switch {
		case f.value == "":
		case !pastable(f.value):
			return ""
		default:
			words = append(words, f.name+"="+f.value)
		}
	}
	return shell(words...)
}

// some shows a dash for what is empty.
func some(text any) string {
	if s := fmt.Sprint(text); s != "" {
		return s
	}
	return "–"
}

// versioned is an aggregate's version behind a word for it, and says so where there is none.
func versioned(version *int64, word string) string {
	if version == nil {
		return "no version"
	}
	return word + strconv.FormatInt(*version, 10)
}

// given is a reason, and nothing where none was given.
func given(reason string) string {
	if reason == dlq.NoReason {
		return ""
	}
	return reason
}

// plural counts things: "1 dead letter", "2 dead letters". n is an integer.
func plural(n any, one, many string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// dict makes a map of names and values, for a part that takes several.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict has %d arguments", len(pairs))
	}
	out := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("argument %d of dict is no name", i)
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}
