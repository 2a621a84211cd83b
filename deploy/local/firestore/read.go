package firestore

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// lookup reads documents by path, as of one time; a missing one is nil. It is
// billed as a read for each.
func (s *Server) lookup(rd reading, paths []string) ([]*record, micros) {
	out := make([]*record, len(paths))
	s.mu.RLock()
	docs, at := rd.db.docs, s.clock.read()
	if rd.tx != nil {
		docs, at = rd.tx.docs, rd.tx.at
	}
	for i, path := range paths {
		out[i] = find(docs, path)
	}
	s.mu.RUnlock()
	for i, path := range paths {
		if rd.tx != nil {
			rd.tx.sawRecord(path, out[i])
		}
		s.billing.read(collectionID(parentOf(path)), 1)
	}
	return out, at
}

// BatchGetDocuments answers with each document, found or missing.
func (s *Server) BatchGetDocuments(req *pb.BatchGetDocumentsRequest, stream pb.Firestore_BatchGetDocumentsServer) error {
	rd, err := s.reading(req.GetDatabase(), req.GetTransaction(), req.GetNewTransaction(), req.GetReadTime())
	if err != nil {
		return err
	}
	mask, err := newProjection(req.GetMask())
	if err != nil {
		return err
	}
	paths := make([]string, len(req.GetDocuments()))
	for i, name := range req.GetDocuments() {
		database, path, err := splitDocumentName(name)
		if err != nil {
			return err
		}
		if database != rd.db.name {
			return status.Errorf(codes.InvalidArgument, "Document %q is not in database %q", clip(name), clip(rd.db.name))
		}
		paths[i] = path
	}
	if rd.began != nil {
		if err := stream.Send(&pb.BatchGetDocumentsResponse{Transaction: rd.began}); err != nil {
			return err
		}
	}
	records, at := s.lookup(rd, paths)
	for i, r := range records {
		if r != nil {
			err = stream.SendMsg(batchResult(rd.db.name, r, mask, at))
		} else {
			err = stream.Send(&pb.BatchGetDocumentsResponse{
				Result:   &pb.BatchGetDocumentsResponse_Missing{Missing: req.GetDocuments()[i]},
				ReadTime: at.proto(),
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// GetDocument answers with one document.
func (s *Server) GetDocument(_ context.Context, req *pb.GetDocumentRequest) (*pb.Document, error) {
	database, path, err := splitDocumentName(req.GetName())
	if err != nil {
		return nil, err
	}
	mask, err := newProjection(req.GetMask())
	if err != nil {
		return nil, err
	}
	rd, err := s.reading(database, req.GetTransaction(), nil, req.GetReadTime())
	if err != nil {
		return nil, err
	}
	records, _ := s.lookup(rd, []string{path})
	if records[0] == nil {
		return nil, status.Errorf(codes.NotFound, "Document %q not found.", clip(req.GetName()))
	}
	return records[0].document(database, mask), nil
}
