package firestore

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxTextBytes keeps what is derived from a name within Firestore's 1,500 bytes for a
// document ID and for what is indexed of a text.
const maxTextBytes = 1400

// fit shortens a text that is longer than Firestore takes: its end becomes its hash.
func fit(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxTextBytes {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	tail := "~" + hex.EncodeToString(sum[:])
	return strings.ToValidUTF8(text[:maxTextBytes-len(tail)], "") + tail
}
