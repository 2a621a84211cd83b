package firestore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"outboxrelay/claims"
	claimsfirestore "outboxrelay/claims/firestore"
	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

func setup(t *testing.T, address string) (*claimsfirestore.Store, *firestore.Client) {
	t.Helper()
	client := firestoretest.Client(t, address).Client
	return claimsfirestore.New(client), client
}

func TestStore(t *testing.T) {
	_, address := firestoretest.Start(t, localfirestore.Options{})
	store, client := setup(t, address)
	testStore(t, store, client)
}

func TestGoogleStore(t *testing.T) {
	store, client := setup(t, firestoretest.OnGoogle(t))
	testStore(t, store, client)
}

// get reads one document.
func get(t *testing.T, s *claimsfirestore.Store, ref claims.Ref) claims.Doc {
	t.Helper()
	docs, err := s.Get(t.Context(), claims.Ref{Collection: "others", ID: "x"}, ref)
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 2 || docs[0].Fields != nil || !docs[0].UpdateTime.IsZero() {
		t.Fatalf("got %+v, want nothing and then the document", docs)
	}
	return docs[1]
}

func testStore(t *testing.T, s *claimsfirestore.Store, client *firestore.Client) {
	ctx := t.Context()
	ref := claims.Ref{Collection: "claims-snapshots", ID: "a%2Fb"}
	none := get(t, s, ref)
	first := map[string]any{"roles": map[string]any{"value": []any{}, "version": int64(1)}, "dotted.name": map[string]any{}, "old": "x"}
	doc, err := s.Put(ctx, ref, none, first)
	if err != nil {
		t.Fatal(err)
	}
	read := get(t, s, ref)
	if diff := cmp.Diff(first, read.Fields); diff != "" || !read.UpdateTime.Equal(doc.UpdateTime) || read.ReadTime.Before(read.UpdateTime) {
		t.Errorf("got %v, %v, want %v: %s", read.UpdateTime, read.ReadTime, doc.UpdateTime, diff)
	}
	wantRefused(t, "another who creates it", func() error { _, err := s.Put(ctx, ref, none, first); return err }())

	second := map[string]any{"roles": map[string]any{"value": []any{"a", map[string]any{"b": 1.5}}}, "claimsVersion": int64(2)}
	if _, err := s.Put(ctx, ref, doc, second); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second, get(t, s, ref).Fields); diff != "" {
		t.Errorf("the document is not exactly what was put: %s", diff)
	}
	wantRefused(t, "another who knows an older one", func() error { _, err := s.Put(ctx, ref, doc, first); return err }())

	current := get(t, s, ref)
	if _, err := client.Collection(ref.Collection).Doc(ref.ID).Delete(ctx); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "another who knows a deleted one", func() error { _, err := s.Put(ctx, ref, current, first); return err }())
	if got := get(t, s, ref); got.Fields != nil {
		t.Errorf("got %v, want it to stay deleted", got.Fields)
	}
}

func isRefused(err error) bool {
	var r interface{ Refused() bool }
	return errors.As(err, &r) && r.Refused()
}

func wantRefused(t *testing.T, who string, err error) {
	t.Helper()
	if !isRefused(err) {
		t.Errorf("%s: got %v, want it refused", who, err)
	}
}

func TestFailures(t *testing.T) {
	server, address := firestoretest.Start(t, localfirestore.Options{})
	store, _ := setup(t, address)
	for code, want := range map[codes.Code]contracts.Kind{
		codes.PermissionDenied: contracts.Outage, codes.Unauthenticated: contracts.Outage, codes.NotFound: contracts.Outage,
		codes.DeadlineExceeded: contracts.Outage, codes.Canceled: contracts.Outage,
		codes.Internal: contracts.Attributable, codes.InvalidArgument: contracts.Attributable, codes.DataLoss: contracts.Attributable,
	} {
		t.Run(code.String(), func(t *testing.T) {
			server.Faults().Add(localfirestore.Fault{Method: "Commit", Code: code})
			defer server.Faults().Clear()
			_, err := store.Put(t.Context(), claims.Ref{Collection: "c", ID: code.String()}, claims.Doc{}, map[string]any{"a": 1})
			if contracts.KindOf(err) != want || contracts.CodeOf(err) != code.String() {
				t.Errorf("got %v of kind %v, want kind %v", err, contracts.KindOf(err), want)
			}
		})
	}
	for _, code := range []codes.Code{codes.Unavailable, codes.ResourceExhausted} { // the client repeats these
		t.Run(code.String(), func(t *testing.T) {
			server.Faults().Add(localfirestore.Fault{Code: code})
			defer server.Faults().Clear()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := store.Get(ctx, claims.Ref{Collection: "c", ID: "x"}); contracts.KindOf(err) != contracts.Outage {
				t.Errorf("reading: got %v", err)
			}
			if _, err := store.Put(ctx, claims.Ref{Collection: "c", ID: "x"}, claims.Doc{}, map[string]any{"a": 1}); contracts.KindOf(err) != contracts.Outage {
				t.Errorf("writing: got %v", err)
			}
		})
	}
	t.Run("a lost answer that the client repeats", func(t *testing.T) {
		server.Faults().Add(localfirestore.Fault{Method: "Commit", Times: 1, LoseResponse: true, Code: codes.Unavailable})
		ref := claims.Ref{Collection: "c", ID: "lost"}
		_, err := store.Put(t.Context(), ref, claims.Doc{}, map[string]any{"a": int64(1)})
		wantRefused(t, "the repeat", err)
		if diff := cmp.Diff(map[string]any{"a": int64(1)}, get(t, store, ref).Fields); diff != "" {
			t.Error(diff)
		}
	})
}
