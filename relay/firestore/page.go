package firestore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // which the answers' codec goes back to
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"outboxrelay/contracts"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
)

// Page implements relay.Store. Documents stay as they are encoded until they are
// judged, which takes the least room; plain records are decoded from there without
// protobuf's values in between.
func (s *Store) Page(ctx context.Context, sc relay.Scan) ([]relay.Doc, error) {
	docs, err := s.page(ctx, sc)
	if err != nil {
		return nil, dlqfirestore.Failure("read page of "+sc.Outbox, err)
	}
	return docs, nil
}

func (s *Store) page(ctx context.Context, sc relay.Scan) ([]relay.Doc, error) {
	serialized, err := query(s.writing.Client, sc).Limit(sc.Limit).Serialize()
	if err != nil {
		return nil, err
	}
	var req pb.RunQueryRequest
	if err := proto.Unmarshal(serialized, &req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(s.writing.Outgoing(ctx)) // which frees the stream, on every way out
	defer cancel()
	answers, err := s.writing.Generated().RunQuery(ctx, &req, gax.WithGRPCOptions(grpc.ForceCodecV2(pageCodec{})))
	if err != nil {
		return nil, err
	}
	p := page{from: s.writing, outbox: sc.Outbox, parent: []byte(req.GetParent() + "/" + sc.Outbox + "/"), docs: make([]relay.Doc, 0, expected(sc))}
	for {
		if n := len(p.docs); n > 0 && sc.Bytes > 0 && p.bytes >= sc.Bytes {
			p.docs[n-1].More = true
			return p.docs, p.failed
		}
		err := answers.RecvMsg(&p)
		if errors.Is(err, io.EOF) {
			return p.docs, p.failed
		}
		if err != nil || p.failed != nil {
			return nil, errors.Join(p.failed, err)
		}
	}
}

// expected is how many documents a page has room for from the start: one behind
// another is mostly full, the first of an outbox mostly is not.
func expected(sc relay.Scan) int {
	if sc.After.Zero() {
		return min(sc.Limit, 64)
	}
	return sc.Limit
}

// page takes in the answers to its query, one by one.
type page struct {
	from   *dlqfirestore.Client
	outbox string
	parent []byte // what the names of its documents begin with
	docs   []relay.Doc
	bytes  int64 // of them, as they came
	failed error // of a document that even the SDK does not take
}

// pageCodec has gRPC give a page its answers as they are.
type pageCodec struct{}

func (pageCodec) Name() string { return "proto" }

func (pageCodec) Marshal(v any) (mem.BufferSlice, error) {
	return encoding.GetCodecV2("proto").Marshal(v)
}

func (pageCodec) Unmarshal(data mem.BufferSlice, v any) error {
	p, ok := v.(*page)
	if !ok {
		return encoding.GetCodecV2("proto").Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return p.take(buf.ReadOnlyData())
}

var (
	tagDocument = tagged(1, protowire.BytesType)
	tagReadTime = tagged(3, protowire.BytesType)
)

// take takes in an encoded RunQueryResponse, which it does not keep.
func (p *page) take(encoded []byte) error {
	var found []byte
	var readAt time.Time
	documents, readTimes, sound := 0, 0, true
	m := message{rest: encoded}
	for t, _, b := m.next(); t != 0; t, _, b = m.next() {
		switch t {
		case tagDocument:
			found = b
			documents++
		case tagReadTime:
			readAt, sound = timestamp(b)
			readTimes++
		}
	}
	if !m.bad && documents == 0 { // a word on the progress
		return nil
	}
	p.bytes += int64(len(found))
	if !m.bad && sound && documents == 1 && readTimes == 1 {
		if h, ok := headOf(p.parent, found); ok {
			p.add(h, bytes.Clone(found), readAt)
			return nil
		}
	}
	var answer pb.RunQueryResponse
	if err := proto.Unmarshal(encoded, &answer); err != nil {
		return err
	}
	var snap *firestore.DocumentSnapshot
	if snap, p.failed = p.from.Snapshot(&answer); p.failed == nil {
		p.docs = append(p.docs, document(snap, snap.ReadTime))
	}
	return nil
}

// add adds a document, which is decoded once it is judged: it may be known.
func (p *page) add(h head, encoded []byte, readAt time.Time) {
	r := &received{from: p.from, outbox: p.outbox, id: h.id, document: encoded, readAt: readAt}
	p.docs = append(p.docs, relay.Doc{
		ID: h.id, CreatedAt: h.createdAt, CreateTime: h.createTime, UpdateTime: h.updateTime, ReadTime: readAt,
		Content: r, Size: len(encoded),
	})
}

// received is a document as it was received.
type received struct {
	from       *dlqfirestore.Client
	outbox, id string
	document   []byte
	readAt     time.Time
}

func (r *received) Record() *contracts.Record { return decodeRecord(r.outbox, r.id, r.document) }

func (r *received) Fields() map[string]any { return dlqfirestore.Plain(r.Raw()) }

// Raw panics, as the SDK does, over what cannot be decoded.
func (r *received) Raw() map[string]any {
	snap, err := r.snapshot()
	if err != nil {
		panic(err)
	}
	return snap.Data()
}

func (r *received) Parts() map[string]any {
	snap, err := r.snapshot()
	if err != nil {
		return map[string]any{}
	}
	return parts(snap)
}

// snapshot is what the SDK makes of the document.
func (r *received) snapshot() (*firestore.DocumentSnapshot, error) {
	var document pb.Document
	if err := proto.Unmarshal(r.document, &document); err != nil {
		return nil, err
	}
	return r.from.Snapshot(&pb.RunQueryResponse{Document: &document, ReadTime: timestamppb.New(r.readAt)})
}
