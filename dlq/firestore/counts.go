package firestore

import (
	"context"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Counts counts the documents of each query, all as they stand at one moment: several in
// a transaction that only reads, which locks nothing. One needs none.
func (c *Client) Counts(ctx context.Context, queries ...firestore.Query) ([]int64, error) {
	counts := make([]int64, len(queries))
	count := func(ctx context.Context, tx *firestore.Transaction) error {
		for i := range queries {
			a := queries[i].NewAggregationQuery().WithCount("n")
			if tx != nil {
				a = a.Transaction(tx)
			}
			res, err := a.Get(ctx)
			if err != nil {
				return err
			}
			v, ok := res["n"].(*firestorepb.Value)
			if !ok {
				return status.Error(codes.Internal, "the answer holds no count")
			}
			counts[i] = v.GetIntegerValue()
		}
		return nil
	}
	if len(queries) > 1 {
		return counts, c.RunTransaction(ctx, count, firestore.ReadOnly)
	}
	return counts, count(ctx, nil)
}
