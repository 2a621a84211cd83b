package claims

import (
	"slices"
	"strings"

	"outboxrelay/contracts"
)

// documentID turns an account's ID into that of its documents. It is the ID
// itself, except for what Firestore forbids: "/" and "%" are escaped as in a
// URL, and "." and ".." and "__x__" get an escaped first character.
func documentID(account string) string {
	id := contracts.DocumentID(strings.ToValidUTF8(account, "\uFFFD"))
	switch {
	case id == "." || id == "..":
		return "%2E" + id[1:]
	case strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__"):
		return "%5F" + id[1:]
	}
	return id
}

// CollectionAccounts holds the accounts' own documents. It is their producer's:
// the handler only reads it.
const CollectionAccounts = "accounts"

func accountRef(account string) Ref { return Ref{CollectionAccounts, documentID(account)} }

// Needed are the fields that the handler needs of a document that it only reads; nil: all.
func (r Ref) Needed() []string {
	if r.Collection != CollectionAccounts {
		return nil
	}
	return slices.Concat(accountParts(), accountVersions())
}

func snapshotRef(account string) Ref {
	return Ref{contracts.CollectionClaimsSnapshots, documentID(account)}
}

func signalRef(account string) Ref {
	return Ref{contracts.CollectionRefreshSignals, documentID(account)}
}
