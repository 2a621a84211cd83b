package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"outboxrelay/contracts"
)

// MaxIDBytes is Firestore's bound on a document ID.
const MaxIDBytes = contracts.MaxDocumentIDBytes

// ID turns an idempotency key into the dead letter's document ID. It is the
// key itself, except for what Firestore forbids: "/" and "%" are escaped as in
// a URL, "." and ".." and "__x__" get an escaped first character, and a key
// over 1,500 bytes ends in its SHA-256.
func ID(key string) string {
	id := contracts.DocumentID(strings.ToValidUTF8(key, "\uFFFD"))
	switch {
	case id == "." || id == "..":
		id = "%2E" + id[1:]
	case strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__"):
		id = "%5F" + id[1:]
	}
	if len(id) > MaxIDBytes {
		sum := sha256.Sum256([]byte(key))
		tail := "~" + hex.EncodeToString(sum[:])
		id = contracts.ClipTo(id, MaxIDBytes-len(tail)) + tail
	}
	return id
}
