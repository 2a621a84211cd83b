package firestore

import (
	"context"
	"fmt"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// compile reads a query, and refuses one that has no index.
func (s *Server) compile(parent string, in *pb.StructuredQuery, aggregated ...string) (*query, error) {
	q, err := compile(parent, in, aggregated...)
	if err != nil || s.anyQuery {
		return q, err
	}
	if err := s.indexes.Load().Require(in, aggregated...); err != nil {
		return nil, err
	}
	return q, nil
}

// results runs a query as of one time.
func (s *Server) results(ctx context.Context, q *query, rd reading) ([]*record, micros, error) {
	out, at, ok, err := s.live(ctx, q, rd)
	if ok || err != nil {
		return out, at, err
	}
	v := newView(q.shape)
	v.fill(rd.tx.docs)
	q.scan(v.tree, func(e entry) { out = append(out, e.rec) })
	rd.tx.sawQuery(q.narrowed(out))
	return out, rd.tx.at, nil
}

// live runs a query on its view. For a transaction, ok is false when the
// live documents have left its snapshot behind.
func (s *Server) live(ctx context.Context, q *query, rd reading) (out []*record, at micros, ok bool, err error) {
	v, err := s.lease(ctx, rd.db, q.shape)
	if err != nil {
		return nil, 0, false, err
	}
	s.mu.RLock()
	ok = rd.tx == nil || rd.db.changed <= rd.tx.at
	if ok {
		q.scan(v.tree, func(e entry) { out = append(out, e.rec) })
	}
	at = s.clock.read()
	s.mu.RUnlock()
	s.release(v)
	if ok && rd.tx != nil {
		at = rd.tx.at
		rd.tx.sawQuery(q.narrowed(out))
	}
	return out, at, ok, nil
}

// narrowed is the query bounded by its result's last document where a limit ended
// it: what lies beyond cannot change the result.
func (q *query) narrowed(result []*record) *query {
	if q.limit <= 0 || len(result) < q.limit {
		return q
	}
	d := reader{database: q.database}
	if key, ok := q.place(&d, result[len(result)-1]); ok {
		n := *q
		n.high = key + "\x00"
		return &n
	}
	return q
}

// RunQuery answers with the documents that a query selects.
func (s *Server) RunQuery(req *pb.RunQueryRequest, stream pb.Firestore_RunQueryServer) error {
	if req.GetExplainOptions() != nil {
		return unimplemented("RunQueryRequest.explain_options")
	}
	if req.GetStructuredQuery() == nil {
		return status.Error(codes.InvalidArgument, "A query must be set.")
	}
	q, err := s.compile(req.GetParent(), req.GetStructuredQuery())
	if err != nil {
		return err
	}
	rd, err := s.reading(q.database, req.GetTransaction(), req.GetNewTransaction(), req.GetReadTime())
	if err != nil {
		return err
	}
	if rd.began != nil {
		if err := stream.Send(&pb.RunQueryResponse{Transaction: rd.began}); err != nil {
			return err
		}
	}
	records, at, err := s.results(stream.Context(), q, rd)
	if err != nil {
		return err
	}
	s.billing.read(q.collection, max(1, len(records)))
	if len(records) == 0 {
		return stream.Send(&pb.RunQueryResponse{
			ReadTime:             at.proto(),
			ContinuationSelector: &pb.RunQueryResponse_Done{Done: true},
		})
	}
	for i, r := range records {
		if err := stream.SendMsg(queryResult(q.database, r, q.projection, at, i == len(records)-1)); err != nil {
			return err
		}
	}
	return nil
}

// unimplemented refuses what this server leaves out, by name.
func unimplemented(what string) error {
	return status.Error(codes.Unimplemented, fmt.Sprintf("the embedded Firestore does not support %s", what))
}
