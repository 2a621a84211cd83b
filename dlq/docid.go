package dlq

import (
	"strings"
	"unicode/utf8"
)

// possibleID reports whether a document can have that ID. One that cannot must
// not reach the client, which would take a slash for a path.
func possibleID(id string) bool {
	switch {
	case id == "" || id == "." || id == ".." || len(id) > MaxIDBytes:
		return false
	case strings.Contains(id, "/") || !utf8.ValidString(id):
		return false
	}
	return !strings.HasPrefix(id, "__") || !strings.HasSuffix(id, "__")
}
