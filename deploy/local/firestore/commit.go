package firestore

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Commit applies writes together or not at all, with one timestamp.
func (s *Server) Commit(_ context.Context, req *pb.CommitRequest) (*pb.CommitResponse, error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	if err := checkDatabase(req.GetDatabase()); err != nil {
		return nil, err
	}
	db := s.database(req.GetDatabase())
	writes, err := newWrites(req.GetDatabase(), req.GetWrites())
	if err != nil {
		return nil, err
	}
	var tx *transaction
	if id := req.GetTransaction(); len(id) > 0 {
		if tx, err = s.transactions.take(id, db, s.now()); err != nil {
			return nil, err
		}
		if tx.readOnly && len(writes) > 0 {
			return nil, status.Error(codes.InvalidArgument, "Cannot modify entities in a read-only transaction.")
		}
	}
	results, at, err := s.commit(db, tx, writes)
	if err != nil {
		if tx != nil && status.Code(err) == codes.ResourceExhausted { // clients try it again
			s.transactions.giveBack(req.GetTransaction(), tx)
		}
		return nil, err
	}
	return &pb.CommitResponse{WriteResults: results, CommitTime: at.proto()}, nil
}

func newWrites(database string, in []*pb.Write) ([]*write, error) {
	writes := make([]*write, len(in))
	for i, w := range in {
		var err error
		if writes[i], err = newWrite(database, w); err != nil {
			return nil, err
		}
	}
	return writes, nil
}

// commit applies writes atomically. It returns once they would survive the end of
// the process, and of the machine.
func (s *Server) commit(db *database, tx *transaction, writes []*write) ([]*pb.WriteResult, micros, error) {
	results, at, durable, err := s.submit(db, tx, writes)
	if err == nil {
		err = durable()
	}
	if err != nil {
		return nil, 0, err
	}
	return results, at, nil
}

// submit is commit without the wait for the disk, which durable is.
func (s *Server) submit(db *database, tx *transaction, writes []*write) (results []*pb.WriteResult, at micros, durable func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tx != nil && !tx.readOnly && !tx.valid() {
		return nil, 0, nil, status.Error(codes.Aborted, "Too much contention on these documents. Please try again.")
	}
	at = s.clock.commit()
	results, changes, err := stage(db, writes, at)
	if err != nil {
		return nil, 0, nil, err
	}
	durable = func() error { return nil }
	if len(changes) > 0 {
		if durable, err = s.persist(db, at, changes); err != nil {
			return nil, 0, nil, err
		}
		db.apply(at, changes)
	}
	s.bill(writes)
	return results, at, durable, nil
}

// stage computes what writes come to, in order, without applying them.
func stage(db *database, writes []*write, at micros) ([]*pb.WriteResult, []change, error) {
	results := make([]*pb.WriteResult, len(writes))
	changes := make([]change, 0, len(writes))
	place := make(map[string]int, len(writes)) // of a path in changes
	for i, w := range writes {
		j, again := place[w.path]
		var current *record
		if again {
			current = changes[j].new
		} else {
			current = db.get(w.path)
		}
		next, result, err := w.apply(current, at)
		if err != nil {
			return nil, nil, err
		}
		results[i] = result
		if again {
			changes[j].new = next
		} else if next != current {
			place[w.path] = len(changes)
			changes = append(changes, change{current, next})
		}
	}
	kept := changes[:0]
	for _, c := range changes {
		if c.old != c.new {
			kept = append(kept, c)
		}
	}
	return results, kept, nil
}

// bill counts a commit's writes; Firestore bills them whether or not they changed
// anything.
func (s *Server) bill(writes []*write) {
	for i := 0; i < len(writes); {
		first, j := writes[i], i+1
		collection := parentOf(first.path)
		for j < len(writes) && writes[j].delete == first.delete && parentOf(writes[j].path) == collection {
			j++
		}
		if first.delete {
			s.billing.delete(collectionID(collection), j-i)
		} else {
			s.billing.write(collectionID(collection), j-i)
		}
		i = j
	}
}

// BatchWrite applies writes one by one; each succeeds or fails by itself.
func (s *Server) BatchWrite(_ context.Context, req *pb.BatchWriteRequest) (*pb.BatchWriteResponse, error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	if err := checkDatabase(req.GetDatabase()); err != nil {
		return nil, err
	}
	db := s.database(req.GetDatabase())
	seen := map[string]bool{}
	for _, w := range req.GetWrites() {
		name := w.GetUpdate().GetName() + w.GetDelete() + w.GetTransform().GetDocument()
		if seen[name] {
			return nil, status.Errorf(codes.InvalidArgument, "Cannot write to the same document %q more than once in a batch.", clip(name))
		}
		seen[name] = true
	}
	resp := &pb.BatchWriteResponse{}
	durable := func() error { return nil } // the last one's wait is for all
	for _, in := range req.GetWrites() {
		result := &pb.WriteResult{}
		w, err := newWrite(db.name, in)
		if err == nil {
			var results []*pb.WriteResult
			var wait func() error
			if results, _, wait, err = s.submit(db, nil, []*write{w}); err == nil {
				result, durable = results[0], wait
			}
		}
		resp.WriteResults = append(resp.WriteResults, result)
		resp.Status = append(resp.Status, &spb.Status{Code: int32(status.Code(err)), Message: status.Convert(err).Message()})
	}
	if err := durable(); err != nil {
		return nil, err
	}
	return resp, nil
}

// writeOne commits a single write.
func (s *Server) writeOne(db *database, in *pb.Write) error {
	w, err := newWrite(db.name, in)
	if err != nil {
		return err
	}
	_, _, err = s.commit(db, nil, []*write{w})
	return err
}
