package firestore_test

import (
	"context"
	"strings"
	"testing"

	gcp "cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local/firestore"
)

// ways are the ways in which a query is asked.
var ways = map[string]func(ctx context.Context, c *gcp.Client, q gcp.Query) error{
	"query": func(ctx context.Context, _ *gcp.Client, q gcp.Query) error {
		_, err := q.Documents(ctx).GetAll()
		return err
	},
	"count": func(ctx context.Context, _ *gcp.Client, q gcp.Query) error {
		_, err := q.NewAggregationQuery().WithCount("n").Get(ctx)
		return err
	},
	"transaction": func(ctx context.Context, c *gcp.Client, q gcp.Query) error {
		return c.RunTransaction(ctx, func(_ context.Context, tx *gcp.Transaction) error {
			_, err := tx.Documents(q).GetAll()
			return err
		})
	},
	"count in a transaction": func(ctx context.Context, c *gcp.Client, q gcp.Query) error {
		return c.RunTransaction(ctx, func(ctx context.Context, tx *gcp.Transaction) error {
			_, err := q.NewAggregationQuery().WithCount("n").Transaction(tx).Get(ctx)
			return err
		})
	},
	"listener": func(ctx context.Context, _ *gcp.Client, q gcp.Query) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		_, err := q.Snapshots(ctx).Next()
		return err
	},
}

func TestQueryWithoutItsIndexIsRefused(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	c := dial(t, addr)
	// refused expects each way to be refused, or none, and the message to name what lacks.
	refused := func(q gcp.Query, names string) {
		t.Helper()
		for way, ask := range ways {
			err := ask(t.Context(), c, q)
			if names == "" {
				if err != nil {
					t.Errorf("%s: want it served, got %v", way, err)
				}
			} else if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), names) {
				t.Errorf("%s: want FailedPrecondition that names %s, got %v", way, names, err)
			}
		}
	}
	refused(c.Collection("orders").Where("a", "==", 1), "")
	q := c.Collection("orders").Where("a", "==", 1).OrderBy("b", gcp.Asc)
	refused(q, `{"collectionGroup":"orders","queryScope":"COLLECTION","fields":[{"fieldPath":"a","order":"ASCENDING"},{"fieldPath":"b","order":"ASCENDING"}]}`)
	// Those of the built-in catalog are there by themselves, and its exemptions.
	refused(c.Collection("accOutbox").Where("status", "==", "pending").Where("lane", "==", "x").OrderBy("createdAt", gcp.Asc), "")
	refused(c.Collection("accOutbox").Where("status", "==", "pending").OrderBy("createdAt", gcp.Asc), "createdAt")
	refused(c.Collection("accOutbox").OrderBy("createdAt", gcp.Asc), "gcloud firestore indexes fields update 'createdAt'")
	refused(c.Collection("accOutbox").Where("payload.id", "==", 1), "payload.id")

	s.DeclareIndexes(indexes.File{Indexes: []indexes.Composite{indexes.On("orders", "a", "b")}})
	refused(q, "")
	refused(c.Doc("orders/1").Collection("orders").Where("a", "==", 1).OrderBy("b", gcp.Asc), "") // an index is of all collections of an ID
	refused(c.CollectionGroup("orders").Where("a", "==", 1).OrderBy("b", gcp.Asc), "COLLECTION_GROUP")
}

func TestSumNeedsItsIndex(t *testing.T) {
	_, addr := start(t, firestore.Options{})
	c := dial(t, addr).Collection("orders")
	sum := func(q gcp.Query) error {
		_, err := q.NewAggregationQuery().WithSum("n", "sum").Get(t.Context())
		return err
	}
	if err := sum(c.Query); err != nil {
		t.Errorf("want the sum of a collection, got %v", err)
	}
	if err := sum(c.Where("a", "==", 1)); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("want the sum of a part to be refused, got %v", err)
	}
}

func TestOwnIndexesReplaceTheCatalogs(t *testing.T) {
	_, addr := start(t, firestore.Options{Indexes: &indexes.File{}})
	c := dial(t, addr).Collection("accOutbox")
	if err := ways["query"](t.Context(), nil, c.OrderBy("createdAt", gcp.Asc)); err != nil {
		t.Errorf("want an automatic index, got %v", err)
	}
	q := c.Where("status", "==", "pending").Where("lane", "==", "x").OrderBy("createdAt", gcp.Asc)
	if err := ways["query"](t.Context(), nil, q); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("want the lane's query to be refused, got %v", err)
	}
}

func TestOpenRefusesIndexesThatFirestoreWould(t *testing.T) {
	s, err := firestore.Open(firestore.Options{Indexes: &indexes.File{Indexes: []indexes.Composite{{CollectionGroup: "c"}}}})
	if err == nil {
		t.Errorf("an index without fields was taken; close: %v", s.Close())
	}
}
