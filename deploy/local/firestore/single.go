package firestore

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The calls that write one document. The clients send Commit instead; these are for
// the REST-minded.

// CreateDocument adds a document, under an ID of its own if none is given.
func (s *Server) CreateDocument(_ context.Context, req *pb.CreateDocumentRequest) (*pb.Document, error) {
	id := req.GetDocumentId()
	if id == "" {
		id = newID()
	}
	if err := checkID(req.GetCollectionId()); err != nil {
		return nil, err
	}
	return s.put(&pb.Write{
		Operation: &pb.Write_Update{Update: &pb.Document{
			Name:   req.GetParent() + "/" + req.GetCollectionId() + "/" + id,
			Fields: req.GetDocument().GetFields(),
		}},
		CurrentDocument: &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: false}},
	}, req.GetMask())
}

// UpdateDocument writes a document whole, or the fields of a mask.
func (s *Server) UpdateDocument(_ context.Context, req *pb.UpdateDocumentRequest) (*pb.Document, error) {
	return s.put(&pb.Write{
		Operation:       &pb.Write_Update{Update: req.GetDocument()},
		UpdateMask:      req.GetUpdateMask(),
		CurrentDocument: req.GetCurrentDocument(),
	}, req.GetMask())
}

// put writes one document and answers with it as it then stands.
func (s *Server) put(in *pb.Write, returned *pb.DocumentMask) (*pb.Document, error) {
	database, path, err := splitDocumentName(in.GetUpdate().GetName())
	if err != nil {
		return nil, err
	}
	mask, err := newProjection(returned)
	if err != nil {
		return nil, err
	}
	db := s.database(database)
	if err := s.writeOne(db, in); err != nil {
		return nil, err
	}
	s.mu.RLock()
	r := db.get(path)
	s.mu.RUnlock()
	if r == nil { // deleted by another since
		return &pb.Document{Name: in.GetUpdate().GetName()}, nil
	}
	return r.document(database, mask), nil
}

// DeleteDocument deletes one document; one that is not there is no fault.
func (s *Server) DeleteDocument(_ context.Context, req *pb.DeleteDocumentRequest) (*emptypb.Empty, error) {
	database, _, err := splitDocumentName(req.GetName())
	if err != nil {
		return nil, err
	}
	err = s.writeOne(s.database(database), &pb.Write{
		Operation:       &pb.Write_Delete{Delete: req.GetName()},
		CurrentDocument: req.GetCurrentDocument(),
	})
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}
