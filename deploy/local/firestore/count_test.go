package firestore_test

import (
	"fmt"
	"testing"

	gcp "cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local/firestore"
)

// TestCountIsTheNumberOfDocuments holds each count, which looks at no document,
// to what the same query returns.
func TestCountIsTheNumberOfDocuments(t *testing.T) {
	_, addr := start(t, firestore.Options{Indexes: &indexes.File{Indexes: []indexes.Composite{indexes.On("c", "kind", "-n")}}})
	c := dial(t, addr)
	coll := c.Collection("c")
	b := batch(c)
	for i := range 300 {
		b.Set(coll.Doc(fmt.Sprintf("d%03d", i)), map[string]any{"n": i, "kind": i % 3, "late": i > 200})
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := func(q gcp.Query, n int) gcp.Query { return q.OrderBy("n", gcp.Desc).StartAfter(n) }
	for name, q := range map[string]gcp.Query{
		"all":                    coll.Query,
		"none":                   coll.Where("n", "==", -1),
		"equal":                  coll.Where("kind", "==", 1),
		"two equals":             coll.Where("kind", "==", 1).Where("late", "==", true),
		"range":                  coll.Where("n", ">=", 10).Where("n", "<", 20),
		"empty range":            coll.Where("n", ">", 20).Where("n", "<", 10),
		"descending range":       coll.Where("kind", "==", 2).Where("n", ">", 10).OrderBy("n", gcp.Desc),
		"limit":                  coll.Limit(7),
		"limit beyond":           coll.Where("kind", "==", 0).Limit(1000),
		"offset":                 coll.Offset(290),
		"offset and limit":       coll.Where("kind", "==", 0).Offset(95).Limit(10),
		"offset beyond":          coll.Offset(1000),
		"after a cursor":         at(coll.Query, 100),
		"equal, cursor":          at(coll.Where("kind", "==", 1), 100).Limit(20),
		"in":                     coll.Where("kind", "in", []int{0, 2}),
		"a field that some lack": coll.OrderBy("missing", gcp.Asc),
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := q.Documents(t.Context()).GetAll()
			if err != nil {
				t.Fatal(err)
			}
			res, err := q.NewAggregationQuery().WithCount("n").Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := res["n"].(*firestorepb.Value).GetIntegerValue(); got != int64(len(docs)) {
				t.Errorf("counted %d, want %d", got, len(docs))
			}
		})
	}
}
