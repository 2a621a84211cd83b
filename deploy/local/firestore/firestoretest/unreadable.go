package firestoretest

import (
	"context"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
)

// Unreadable has a client get a document's field of that name, where it is there, as a reference to
// a database, over which the SDK panics. Emulators take none such, so it becomes one on its way.
func Unreadable(field string) option.ClientOption {
	return option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			stream, err := open(ctx, desc, cc, method, opts...)
			return &spoiling{stream, field}, err
		},
	))
}

type spoiling struct {
	grpc.ClientStream

	field string
}

func (s *spoiling) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		return err
	}
	var doc *firestorepb.Document
	switch got := m.(type) {
	case *firestorepb.BatchGetDocumentsResponse:
		doc = got.GetFound()
	case *firestorepb.RunQueryResponse:
		doc = got.GetDocument()
	}
	if v := doc.GetFields()[s.field]; v != nil {
		v.ValueType = &firestorepb.Value_ReferenceValue{ReferenceValue: "projects/p/databases/(default)"}
	}
	return nil
}
