package firestore

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// listener is one Listen stream. Its goroutine alone sends, and alone changes the
// list of targets.
type listener struct {
	s       *Server
	stream  pb.Firestore_ListenServer
	db      *database // nil until the first request
	targets []*target
	woken   chan struct{} // holds a token while a target may be dirty
}

// Listen serves a stream of targets until the client ends it, the server closes or
// a fault drops it.
func (s *Server) Listen(stream pb.Firestore_ListenServer) error {
	l := &listener{s: s, stream: stream, woken: make(chan struct{}, 1)}
	defer l.close()
	ctx := stream.Context()
	requests := make(chan *pb.ListenRequest)
	ended := make(chan error, 1)
	s.background.Go(func() { ended <- receive(ctx, stream, requests) })

	var beat <-chan time.Time
	if s.heartbeat > 0 {
		ticker := time.NewTicker(s.heartbeat)
		defer ticker.Stop()
		beat = ticker.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctxError(ctx)
		case err := <-ended:
			return err
		case req := <-requests:
			err = l.handle(ctx, req)
		case <-l.woken:
			err = l.flush(false)
		case <-beat:
			err = l.flush(true)
		}
		if err != nil {
			return err
		}
	}
}

// receive hands requests over until the client sends no more.
func receive(ctx context.Context, stream pb.Firestore_ListenServer, to chan<- *pb.ListenRequest) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case to <- req:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *listener) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

func (l *listener) handle(ctx context.Context, req *pb.ListenRequest) error {
	if err := checkDatabase(req.GetDatabase()); err != nil {
		return err
	}
	if l.db == nil {
		l.db = l.s.database(req.GetDatabase())
	} else if l.db.name != req.GetDatabase() {
		return status.Error(codes.InvalidArgument, "A stream listens to one database.")
	}
	switch t := req.GetTargetChange().(type) {
	case *pb.ListenRequest_RemoveTarget:
		return l.remove(t.RemoveTarget, nil)
	case *pb.ListenRequest_AddTarget:
		return l.add(ctx, t.AddTarget)
	}
	return status.Error(codes.InvalidArgument, "A request must add or remove a target.")
}

func (l *listener) add(ctx context.Context, in *pb.Target) error {
	if slices.ContainsFunc(l.targets, func(t *target) bool { return t.id == in.GetTargetId() }) {
		return status.Errorf(codes.InvalidArgument, "Target %d is already in use.", in.GetTargetId())
	}
	t, err := l.newTarget(in)
	if err == nil && t.query != nil {
		t.view, err = l.s.lease(ctx, l.db, t.query.shape)
	}
	if err != nil { // the target fails, the stream goes on
		return l.change(&pb.TargetChange{
			TargetChangeType: pb.TargetChange_REMOVE,
			TargetIds:        []int32{in.GetTargetId()},
			Cause:            &spb.Status{Code: int32(status.Code(err)), Message: status.Convert(err).Message()},
		})
	}
	l.s.attach(l.db, t, in)
	l.targets = append(l.targets, t)
	err = l.change(&pb.TargetChange{TargetChangeType: pb.TargetChange_ADD, TargetIds: []int32{t.id}})
	if err == nil && t.reset {
		err = l.change(&pb.TargetChange{TargetChangeType: pb.TargetChange_RESET, TargetIds: []int32{t.id}})
	}
	if err == nil {
		err = l.flush(false, t)
	}
	if err == nil && t.once {
		err = l.remove(t.id, nil)
	}
	return err
}

func (l *listener) newTarget(in *pb.Target) (*target, error) {
	t := &target{id: in.GetTargetId(), once: in.GetOnce(), wake: l.wake}
	switch tt := in.GetTargetType().(type) {
	case *pb.Target_Documents:
		for _, name := range tt.Documents.GetDocuments() {
			database, path, err := splitDocumentName(name)
			if err != nil {
				return nil, err
			}
			if database != l.db.name {
				return nil, status.Error(codes.InvalidArgument, "A target's documents must be of the stream's database.")
			}
			t.names = append(t.names, path)
		}
		return t, nil
	case *pb.Target_Query:
		structured := tt.Query.GetStructuredQuery()
		if structured == nil {
			return nil, unimplemented("a Listen target without a StructuredQuery")
		}
		var err error
		t.query, err = l.s.compile(tt.Query.GetParent(), structured)
		if err == nil && t.query.database != l.db.name {
			err = status.Error(codes.InvalidArgument, "A target's query must be of the stream's database.")
		}
		return t, err
	}
	return nil, unimplemented("a Listen target that is neither a query nor documents")
}

func (l *listener) remove(id int32, cause *spb.Status) error {
	i := slices.IndexFunc(l.targets, func(t *target) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	l.s.detach(l.db, l.targets[i])
	l.targets = slices.Delete(l.targets, i, i+1)
	return l.change(&pb.TargetChange{TargetChangeType: pb.TargetChange_REMOVE, TargetIds: []int32{id}, Cause: cause})
}

// flush brings the client up to date in one consistent snapshot of all its
// targets. Those given as fresh are told that they are current. With nothing to
// tell it is silent, unless a heartbeat is due.
func (l *listener) flush(beat bool, fresh ...*target) error {
	if l.db == nil {
		return nil
	}
	out, at := l.s.collect(l.db, l.targets)
	if len(out) == 0 && len(fresh) == 0 && (!beat || len(l.targets) == 0) {
		return nil
	}
	for _, n := range out {
		var err error
		if n.kind == added {
			var mask *projection
			if n.t.query != nil {
				mask = n.t.query.projection
			}
			err = l.stream.SendMsg(listenChanged(l.db.name, n.rec, mask, n.t.id))
		} else {
			err = l.stream.Send(listenGone(l.db.name, n, at))
		}
		if err != nil {
			return err
		}
	}
	token := l.s.token(at)
	for _, t := range fresh {
		if err := l.change(&pb.TargetChange{
			TargetChangeType: pb.TargetChange_CURRENT,
			TargetIds:        []int32{t.id},
			ResumeToken:      token,
			ReadTime:         at.proto(),
		}); err != nil {
			return err
		}
	}
	return l.change(&pb.TargetChange{ResumeToken: token, ReadTime: at.proto()})
}

func (l *listener) change(tc *pb.TargetChange) error {
	return l.stream.Send(&pb.ListenResponse{ResponseType: &pb.ListenResponse_TargetChange{TargetChange: tc}})
}

func (l *listener) close() {
	for _, t := range l.targets {
		l.s.detach(l.db, t)
	}
}
