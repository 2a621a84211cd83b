package dlq

import (
	"fmt"
	"slices"
	"strings"
)

// LetterName is what stands for a dead letter in a path of the admin API and the console.
// It is its ID, but some words stand for something else there, as in GET /dlq/groups: of
// an ID that is one of these the first letter is percent-encoded, and what reads like that
// gets one more escape, as in FreezeName.
func LetterName(id string) string {
	switch {
	case slices.Contains(takenNames, id):
		return escapedName(id)
	case takenBehind(id) != "":
		return "%25" + id[1:]
	}
	return id
}

// NamedLetter is the ID of the dead letter that a LetterName stands for.
func NamedLetter(name string) (id string) {
	taken := takenBehind(name)
	switch {
	case taken == "":
		return name
	case strings.HasPrefix(name, "%25"):
		return "%" + name[3:]
	}
	return taken
}

// takenNames stand for something else than a dead letter.
var takenNames = []string{"count", "groups", "named", "summary"}

func escapedName(taken string) string { return fmt.Sprintf("%%%X%s", taken[0], taken[1:]) }

// takenBehind is the taken name that a text reads like an escape of, however often it was
// escaped; "": it does not.
func takenBehind(text string) string {
	rest, escaped := strings.CutPrefix(text, "%")
	for strings.HasPrefix(rest, "25") {
		rest = rest[2:]
	}
	for _, taken := range takenNames {
		if escaped && "%"+rest == escapedName(taken) {
			return taken
		}
	}
	return ""
}
