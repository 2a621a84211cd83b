package firestore_test

import (
	"testing"

	"cloud.google.com/go/firestore"

	"outboxrelay/claims"
	claimsfirestore "outboxrelay/claims/firestore"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

// unreadable writes a document of a collection, and returns it as it is got by a client of which the
// SDK cannot read that field.
func unreadable(t *testing.T, field, collection string, fields map[string]any) (claims.Doc, error) {
	t.Helper()
	_, address := firestoretest.Start(t, localfirestore.Options{})
	client, err := firestore.NewClient(t.Context(), "p-odd", append(local.FirestoreOptions(address), firestoretest.Unreadable(field))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if _, err := client.Collection(collection).Doc("acc-1").Set(t.Context(), fields); err != nil {
		t.Fatal(err)
	}
	docs, err := claimsfirestore.New(client).Get(t.Context(), claims.Ref{Collection: collection, ID: "acc-1"})
	if err != nil {
		return claims.Doc{}, err
	}
	return docs[0], nil
}

// TestUnreadableAccount: an account's document is its producer's. What the handler does not need of
// it may be of any kind; what it needs is never taken for absent.
func TestUnreadableAccount(t *testing.T) {
	account := map[string]any{"roles": []any{"admin"}, "version": 3, "photo": 1}
	doc, err := unreadable(t, "photo", claims.CollectionAccounts, account)
	_, has := doc.Fields["photo"]
	if roles, _ := doc.Fields["roles"].([]any); err != nil || has || len(doc.Fields) != 2 || len(roles) != 1 || doc.Fields["version"] != int64(3) || doc.UpdateTime.IsZero() {
		t.Errorf("without its photo the account is %+v, %v", doc, err)
	}
	doc, err = unreadable(t, "roles", claims.CollectionAccounts, account)
	if _, told := doc.Fields["roles"].(error); err != nil || !told || doc.Fields["version"] != int64(3) {
		t.Errorf("of an account whose roles cannot be read there is %+v, %v", doc, err)
	}
}

// TestUnreadableSnapshot: of the handler's own documents nothing is left out.
func TestUnreadableSnapshot(t *testing.T) {
	doc, err := unreadable(t, "before", contracts.CollectionClaimsSnapshots, map[string]any{"before": 1, "claimsVersion": 7})
	if err == nil || contracts.KindOf(err) != contracts.Attributable || isRefused(err) {
		t.Errorf("got %v, %v", doc, err)
	}
}
