package contracts

import (
	"strings"
	"unicode/utf8"
)

// MaxDocumentIDBytes is Firestore's bound on the ID of a document or a collection.
const MaxDocumentIDBytes = 1500

// IsDocumentID reports whether Firestore takes an ID for a document's, or a collection's.
// One that it does not take must not reach a client, which would take a slash for a path.
func IsDocumentID(id string) bool {
	switch {
	case id == "" || id == "." || id == ".." || len(id) > MaxDocumentIDBytes:
		return false
	case strings.Contains(id, "/") || !utf8.ValidString(id):
		return false
	}
	return !ReservedName(id)
}

// ReservedName reports whether Firestore keeps an ID or a field's name for itself: __.*__,
// which two or three underscores alone are not. Four are by that, as its documentation writes
// it, though its emulator takes them for an ID.
func ReservedName(name string) bool {
	return len(name) >= 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}
