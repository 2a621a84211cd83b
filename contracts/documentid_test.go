package contracts

import (
	"strings"
	"testing"
)

func TestIsDocumentID(t *testing.T) {
	for _, id := range []string{"a", "_", "__", "___", "__a", "a__", "..a", "a.b", "%2F", "é", strings.Repeat("x", MaxDocumentIDBytes)} {
		if !IsDocumentID(id) {
			t.Errorf("%q is refused, which Firestore takes", id)
		}
	}
	for _, id := range []string{"", ".", "..", "____", "__a__", "a/b", "\xff", strings.Repeat("x", MaxDocumentIDBytes+1)} {
		if IsDocumentID(id) {
			t.Errorf("%q is taken, which Firestore refuses or keeps for itself", id)
		}
	}
}
