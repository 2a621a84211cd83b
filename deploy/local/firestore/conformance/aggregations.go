package conformance

import (
	"fmt"
	"math"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
)

var aggregations = []test{
	{"count, sum and average", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{"a": {"x": 1}, "b": {"x": 2.5}, "c": {"x": "text"}, "d": {"y": 1}, "e": {"x": 4}})
		q := c.Query
		got, err := q.NewAggregationQuery().WithCount("n").WithSum("x", "sum").WithAvg("x", "avg").Get(e.ctx)
		e.ok(err)
		e.equal([]any{int64(4), 7.5, 2.5}, []any{number(got["n"]), number(got["sum"]), number(got["avg"])})
		limited := c.OrderBy("x", firestore.Asc).Limit(2)
		got, err = limited.NewAggregationQuery().WithCount("n").Get(e.ctx)
		e.ok(err)
		e.equal(int64(2), number(got["n"]))
		none := c.Where("x", "==", "zz")
		got, err = none.NewAggregationQuery().WithCount("n").WithSum("x", "sum").WithAvg("x", "avg").Get(e.ctx)
		e.ok(err)
		e.equal([]any{int64(0), int64(0), nil}, []any{number(got["n"]), number(got["sum"]), number(got["avg"])})
	}},
	{"a limit and an offset count documents that have what is summed up", func(e *env) {
		c := e.collection()
		e.fill(c, map[string]fields{
			"a": {"k": 1, "n": 7, "z": 1}, "b": {"k": 1}, "c": {"k": 1, "n": 5, "z": 2}, "d": {"k": 2, "n": 1},
		})
		e.index(c, "k", "n")
		e.index(c, "-k", "-n")
		e.index(c, "n", "z")
		e.wantSum(c.Limit(2), 2, int64(6)) // in the order of n
		e.wantSum(c.Offset(1), 2, int64(12))
		e.wantSum(c.Offset(1).Limit(1), 1, int64(5))
		e.wantSum(c.Where("k", "==", 1).Limit(1), 1, int64(5))
		e.wantSum(c.OrderBy("k", firestore.Asc).Limit(1), 1, int64(5))
		e.wantSum(c.Where("k", "<", 2).OrderBy("k", firestore.Desc).Limit(1), 1, int64(7))
		q := c.Limit(1)
		got, err := q.NewAggregationQuery().WithSum("z", "z").WithSum("n", "n").Get(e.ctx)
		e.ok(err)
		e.equal([]any{int64(5), int64(2)}, []any{number(got["n"]), number(got["z"])})
	}},
	{"integers become a double only where their sum is too large", func(e *env) {
		for _, t := range []struct {
			values []int64
			want   any
		}{
			{[]int64{math.MaxInt64 - 100, 7}, int64(math.MaxInt64 - 93)},
			{[]int64{math.MaxInt64, 1, -1000}, int64(math.MaxInt64 - 999)},
			{[]int64{math.MinInt64}, int64(math.MinInt64)},
			{[]int64{math.MaxInt64, 1}, 0x1p63},
			{[]int64{math.MinInt64, -1}, -0x1p63},
		} {
			c := e.collection()
			docs := map[string]fields{}
			for i, v := range t.values {
				docs[fmt.Sprint("d", i)] = fields{"n": v}
			}
			e.fill(c, docs)
			e.wantSum(c.Query, len(docs), t.want)
		}
	}},
	{"what is summed up cannot follow the name", func(e *env) {
		c := e.numbered(3)
		sum := func(q firestore.Query, field string) error {
			_, err := q.NewAggregationQuery().WithSum(field, "sum").Get(e.ctx)
			return err
		}
		e.code(sum(c.OrderBy(firestore.DocumentID, firestore.Asc).Limit(2), "n"), codes.InvalidArgument)
		e.code(sum(c.Query, firestore.DocumentID), codes.InvalidArgument)
		named := c.Where(firestore.DocumentID, ">", c.Doc("d000"))
		e.code(sum(named, "n"), codes.InvalidArgument)
		e.ok(sum(named.OrderBy("n", firestore.Asc), "n"))
		e.code(sum(c.Where(firestore.DocumentID, "==", c.Doc("d001")), "n"), codes.InvalidArgument)
		e.code(sum(c.Where(firestore.DocumentID, "in", []any{c.Doc("d001")}), "n"), codes.InvalidArgument)
		e.ok(sum(c.OrderBy("n", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc), "n"))
	}},
}

// wantSum sums up n of what a query selects, and counts what has it.
func (e *env) wantSum(q firestore.Query, count int, sum any) {
	e.Helper()
	got, err := q.NewAggregationQuery().WithCount("n").WithSum("n", "sum").Get(e.ctx)
	e.ok(err)
	e.equal([]any{int64(count), sum}, []any{number(got["n"]), number(got["sum"])})
}

// number is what an aggregation came to.
func number(v any) any {
	switch t := v.(*pb.Value).GetValueType().(type) {
	case *pb.Value_IntegerValue:
		return t.IntegerValue
	case *pb.Value_DoubleValue:
		return t.DoubleValue
	}
	return nil
}
