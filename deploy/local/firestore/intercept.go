package firestore

import (
	"context"
	"errors"
	"sync"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// unary applies the rules to a call with one request and one response.
func (f *Faults) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if len(*f.rules.Load()) == 0 {
		return handle(ctx, req)
	}
	instead, after := f.before(ctx, Call{shortMethod(info.FullMethod), info.FullMethod, collectionsOf(req), req})
	if instead != nil {
		return nil, instead
	}
	resp, err := handle(ctx, req)
	if err == nil && after != nil {
		return nil, after
	}
	return resp, err
}

// stream applies the rules to a streaming call, each request that arrives on it
// being a call to the rules, and makes it known to DropStreams.
func (f *Faults) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx, cancel := context.WithCancelCause(ss.Context())
	defer cancel(nil)
	o := &openStream{ServerStream: ss, faults: f, ctx: ctx, cancel: cancel, method: info.FullMethod}
	if p, ok := peer.FromContext(ctx); ok {
		o.peer = p.Addr.String()
	}
	f.mu.Lock()
	f.open[o] = struct{}{}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.open, o)
		f.mu.Unlock()
	}()
	err := handle(srv, o)
	if d, ok := errors.AsType[dropped](context.Cause(ctx)); ok {
		return d.err
	}
	if err == nil {
		return o.afterwards()
	}
	return err
}

// dropped is the cause of a stream's end by DropStreams; err may be nil, for an
// end without an error.
type dropped struct{ err error }

func (d dropped) Error() string { return "stream dropped" }

// openStream is a streaming call under way.
type openStream struct {
	grpc.ServerStream
	faults *Faults
	ctx    context.Context
	cancel context.CancelCauseFunc
	method string
	peer   string

	mu          sync.Mutex
	collections []string
	request     any
	after       error
}

func (o *openStream) Context() context.Context { return o.ctx }

func (o *openStream) RecvMsg(m any) error {
	if err := o.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	found := collectionsOf(m)
	o.mu.Lock()
	o.collections = append(o.collections, found...)
	o.request = m
	o.mu.Unlock()
	if len(*o.faults.rules.Load()) == 0 {
		return nil
	}
	call := o.call()
	call.Collections = found
	instead, after := o.faults.before(o.ctx, call)
	if instead != nil {
		return instead
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if after != nil {
		o.after = after
	}
	return nil
}

func (o *openStream) SendMsg(m any) error {
	if len(*o.faults.rules.Load()) > 0 {
		if err := o.faults.awaitStall(o.ctx, o.call); err != nil {
			return err
		}
	}
	return o.ServerStream.SendMsg(m)
}

func (o *openStream) call() Call {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Call{shortMethod(o.method), o.method, o.collections, o.request}
}

func (o *openStream) afterwards() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.after
}

// Drop says which open streams end, and how.
type Drop struct {
	Method     string // short or full; empty means Listen
	Collection string // only those that touch this collection ID
	// Code ends each stream with this status; OK ends it as if the server were
	// done, which clients take for a reason to come back.
	Code codes.Code
	// Hard cuts the connection under the streams, and with it all else on it; no
	// status is sent.
	Hard bool
}

// DropStreams ends open streams and returns how many.
func (f *Faults) DropStreams(d Drop) int {
	if d.Method == "" {
		d.Method = "Listen"
	}
	var err error
	if d.Code != codes.OK {
		err = status.Error(d.Code, "injected fault: stream dropped")
	}
	wanted := rule{Fault: Fault{Method: d.Method, Collection: d.Collection}}
	f.mu.Lock()
	var hit []*openStream
	for o := range f.open {
		if wanted.matches(o.call()) {
			hit = append(hit, o)
		}
	}
	f.mu.Unlock()
	for _, o := range hit {
		if d.Hard {
			f.conns.cut(o.peer)
		} else {
			o.cancel(dropped{err})
		}
	}
	return len(hit)
}

// collectionsOf lists the IDs of the collections that a request touches.
func collectionsOf(req any) (ids []string) {
	ofDocument := func(name string) {
		if _, path, err := splitDocumentName(name); err == nil {
			ids = append(ids, collectionID(parentOf(path)))
		}
	}
	ofQuery := func(q *pb.StructuredQuery) {
		for _, from := range q.GetFrom() {
			ids = append(ids, from.GetCollectionId())
		}
	}
	ofWrites := func(writes []*pb.Write) {
		for _, w := range writes {
			ofDocument(w.GetUpdate().GetName() + w.GetDelete() + w.GetTransform().GetDocument())
		}
	}
	switch r := req.(type) {
	case *pb.GetDocumentRequest:
		ofDocument(r.GetName())
	case *pb.UpdateDocumentRequest:
		ofDocument(r.GetDocument().GetName())
	case *pb.DeleteDocumentRequest:
		ofDocument(r.GetName())
	case *pb.CreateDocumentRequest:
		ids = append(ids, r.GetCollectionId())
	case *pb.ListDocumentsRequest:
		ids = append(ids, r.GetCollectionId())
	case *pb.BatchGetDocumentsRequest:
		for _, name := range r.GetDocuments() {
			ofDocument(name)
		}
	case *pb.CommitRequest:
		ofWrites(r.GetWrites())
	case *pb.BatchWriteRequest:
		ofWrites(r.GetWrites())
	case *pb.RunQueryRequest:
		ofQuery(r.GetStructuredQuery())
	case *pb.RunAggregationQueryRequest:
		ofQuery(r.GetStructuredAggregationQuery().GetStructuredQuery())
	case *pb.ListenRequest:
		ofQuery(r.GetAddTarget().GetQuery().GetStructuredQuery())
		for _, name := range r.GetAddTarget().GetDocuments().GetDocuments() {
			ofDocument(name)
		}
	}
	return ids
}
