package firestore

import (
	"context"
	"fmt"
	"slices"
	"sort"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// entriesPerRead is how many index entries an aggregation counts for one read.
const entriesPerRead = 1000

// RunAggregationQuery counts, sums or averages over the documents that a query
// selects.
func (s *Server) RunAggregationQuery(req *pb.RunAggregationQueryRequest, stream pb.Firestore_RunAggregationQueryServer) error {
	if req.GetExplainOptions() != nil {
		return unimplemented("RunAggregationQueryRequest.explain_options")
	}
	in := req.GetStructuredAggregationQuery()
	if in.GetStructuredQuery() == nil || len(in.GetAggregations()) == 0 {
		return status.Error(codes.InvalidArgument, "An aggregation needs a query and at least one aggregation.")
	}
	q, err := s.compile(req.GetParent(), in.GetStructuredQuery(), aggregatedFields(in.GetAggregations())...)
	if err != nil {
		return err
	}
	rd, err := s.reading(q.database, req.GetTransaction(), req.GetNewTransaction(), req.GetReadTime())
	if err != nil {
		return err
	}
	if rd.began != nil {
		if err := stream.Send(&pb.RunAggregationQueryResponse{Transaction: rd.began}); err != nil {
			return err
		}
	}
	records, n, at, err := s.counted(stream.Context(), q, rd, in.GetAggregations())
	if err != nil {
		return err
	}
	s.billing.read(q.collection, max(1, (n+entriesPerRead-1)/entriesPerRead))
	fields := map[string]*pb.Value{}
	for i, a := range in.GetAggregations() {
		alias := a.GetAlias()
		if alias == "" {
			alias = fmt.Sprintf("field_%d", i+1)
		}
		if fields[alias] != nil {
			return status.Errorf(codes.InvalidArgument, "Aggregation alias %q is used twice.", clip(alias))
		}
		if fields[alias], err = aggregate(a, records, n); err != nil {
			return err
		}
	}
	return stream.Send(&pb.RunAggregationQueryResponse{
		Result:   &pb.AggregationResult{AggregateFields: fields},
		ReadTime: at.proto(),
	})
}

// aggregatedFields lists the fields that aggregations sum up, by name: a query that
// is summed up is ordered by them, at the end of its own order.
func aggregatedFields(as []*pb.StructuredAggregationQuery_Aggregation) []string {
	var out []string
	for _, a := range as {
		for _, field := range []string{a.GetSum().GetField().GetFieldPath(), a.GetAvg().GetField().GetFieldPath()} {
			if field != "" && !slices.Contains(out, field) {
				out = append(out, field)
			}
		}
	}
	slices.Sort(out)
	return out
}

// counted is what aggregations are over, and how many documents that are. For
// counts alone, outside a transaction, the documents themselves stay out.
func (s *Server) counted(ctx context.Context, q *query, rd reading, as []*pb.StructuredAggregationQuery_Aggregation) ([]*record, int, micros, error) {
	if rd.tx == nil && onlyCounts(as) {
		n, at, err := s.size(ctx, q, rd)
		return nil, n, at, err
	}
	records, at, err := s.results(ctx, q, rd)
	return records, len(records), at, err
}

// onlyCounts reports whether nothing is asked of the documents but their number.
func onlyCounts(as []*pb.StructuredAggregationQuery_Aggregation) bool {
	return !slices.ContainsFunc(as, func(a *pb.StructuredAggregationQuery_Aggregation) bool { return a.GetCount() == nil })
}

// size counts what a query selects now, without looking at each: the view knows
// how many entries stand before a key.
func (s *Server) size(ctx context.Context, q *query, rd reading) (n int, at micros, err error) {
	v, err := s.lease(ctx, rd.db, q.shape)
	if err != nil {
		return 0, 0, err
	}
	defer s.release(v)
	s.mu.RLock()
	defer s.mu.RUnlock()
	n = max(0, rank(v.tree, q.high)-rank(v.tree, q.low)-q.offset)
	if q.limit >= 0 {
		n = min(n, q.limit)
	}
	return n, s.clock.read(), nil
}

// rank is how many entries of a view stand before a key.
func rank(tree *entryTree, key string) int {
	return sort.Search(tree.Len(), func(i int) bool {
		e, _ := tree.GetAt(i)
		return e.key >= key
	})
}

// aggregate is one result over the documents, of which there are count.
func aggregate(a *pb.StructuredAggregationQuery_Aggregation, records []*record, count int) (*pb.Value, error) {
	switch op := a.GetOperator().(type) {
	case *pb.StructuredAggregationQuery_Aggregation_Count_:
		n := int64(count)
		if upTo := op.Count.GetUpTo(); upTo != nil {
			if upTo.GetValue() <= 0 {
				return nil, status.Error(codes.InvalidArgument, "up_to must be positive.")
			}
			n = min(n, upTo.GetValue())
		}
		return integerValue(n), nil
	case *pb.StructuredAggregationQuery_Aggregation_Sum_:
		t, err := sum(op.Sum.GetField().GetFieldPath(), records)
		return t.value(), err
	case *pb.StructuredAggregationQuery_Aggregation_Avg_:
		t, err := sum(op.Avg.GetField().GetFieldPath(), records)
		if err != nil || t.n == 0 {
			return nullValue, err
		}
		return doubleValue(t.float() / float64(t.n)), nil
	}
	return nil, status.Error(codes.InvalidArgument, "An aggregation must name its operator.")
}

func integerValue(n int64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: n}}
}
