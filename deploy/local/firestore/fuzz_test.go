package firestore_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"outboxrelay/deploy/local/firestore"
)

// FuzzRequestBytes sends any bytes as the requests of any method; see
// fuzzTarget.call for what must hold.
func FuzzRequestBytes(f *testing.F) {
	target := newFuzzTarget(f)
	methods := fuzzMethods()
	for i := range methods.Len() {
		f.Add(uint8(i), []byte(nil), []byte(nil))
	}
	for _, req := range soundRequests() {
		data, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(methodOf(req)), data, data)
	}
	f.Fuzz(func(t *testing.T, method uint8, first, second []byte) {
		m := methods.Get(int(method) % methods.Len())
		requests := [][]byte{first}
		if m.IsStreamingClient() {
			requests = append(requests, second)
		}
		target.call(t, m, requests)
	})
}

// FuzzRequests sends messages that are filled as the fuzzer's bytes say, so
// that they are well-formed and mostly speak of what is there.
func FuzzRequests(f *testing.F) {
	target := newFuzzTarget(f)
	methods := fuzzMethods()
	for i := range methods.Len() {
		f.Add(uint8(i), []byte("\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"))
		f.Add(uint8(i), []byte("\x02\x03\x05\x07\x0b\x0d\x11\x13\x17\x1d\x1f\x25\x29\x2b\x2f\x35\x3b\x3d\x43\x47\x49\x4f\x53\x59\x61\x65\x67\x6b"))
	}
	f.Fuzz(func(t *testing.T, method uint8, data []byte) {
		m := methods.Get(int(method) % methods.Len())
		requests := make([][]byte, 1)
		if m.IsStreamingClient() {
			requests = make([][]byte, 3)
		}
		s := &fuzzSource{data: data}
		for i := range requests {
			message := dynamicpb.NewMessage(m.Input())
			s.fill(message, 0)
			var err error
			if requests[i], err = proto.Marshal(message); err != nil {
				t.Fatal(err)
			}
		}
		target.call(t, m, requests)
	})
}

func fuzzMethods() protoreflect.MethodDescriptors {
	return pb.File_google_firestore_v1_firestore_proto.Services().ByName("Firestore").Methods()
}

// methodOf returns the index of the method that takes req.
func methodOf(req proto.Message) int {
	methods := fuzzMethods()
	for i := range methods.Len() {
		if methods.Get(i).Input().FullName() == req.ProtoReflect().Descriptor().FullName() {
			return i
		}
	}
	return -1
}

// fuzzTarget is a server with a few documents, and a connection to it.
type fuzzTarget struct {
	server *firestore.Server
	conn   *grpc.ClientConn
}

func newFuzzTarget(f *testing.F) *fuzzTarget {
	f.Helper()
	s, addr := start(f, firestore.Options{Heartbeat: -1, AnyQuery: true})
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(owner{}))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	return &fuzzTarget{server: s, conn: conn}
}

const fuzzPatience = 2 * time.Minute // far beyond what any answer takes

// call makes one call against the same documents each time. Whatever is sent:
// the server lives, answers soon with what its clients can decode, gives no
// code that speaks of its own failure, and serves the next request.
func (f *fuzzTarget) call(t *testing.T, m protoreflect.MethodDescriptor, requests [][]byte) {
	ctx, cancel := context.WithTimeout(t.Context(), fuzzPatience)
	defer cancel()
	f.server.Reset()
	f.commit(ctx, t)
	answers, err := f.stream(ctx, m, requests)
	code := status.Code(err)
	switch {
	case ctx.Err() != nil:
		t.Fatalf("%s did not answer: %v", m.Name(), err)
	case code > codes.Unauthenticated, code == codes.Unknown, code == codes.DataLoss, code == codes.Unavailable:
		t.Fatalf("%s: got %v", m.Name(), err)
	case code == codes.Internal && decode(m.Input(), requests) == nil:
		t.Fatalf("%s: got %v for a request that can be decoded", m.Name(), err)
	}
	if err := decode(m.Output(), answers); err != nil {
		t.Fatalf("%s: an answer cannot be decoded: %v", m.Name(), err)
	}
	f.serves(ctx, t)
}

// stream sends all requests, and reads what comes until the call ends.
func (f *fuzzTarget) stream(ctx context.Context, m protoreflect.MethodDescriptor, requests [][]byte) (answers [][]byte, err error) {
	desc := &grpc.StreamDesc{ClientStreams: m.IsStreamingClient(), ServerStreams: m.IsStreamingServer()}
	stream, err := f.conn.NewStream(ctx, desc, fuzzFullMethod(m), grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		if err := stream.SendMsg(r); err != nil && !errors.Is(err, io.EOF) { // io.EOF: Recv has the error
			return nil, err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	for {
		var answer []byte
		err := stream.RecvMsg(&answer)
		switch {
		case errors.Is(err, io.EOF):
			return answers, nil
		case err != nil:
			return answers, err
		}
		answers = append(answers, answer)
		if !desc.ServerStreams {
			return answers, nil
		}
	}
}

func fuzzFullMethod(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// commit writes the documents that every call finds.
func (f *fuzzTarget) commit(ctx context.Context, t *testing.T) {
	writes := make([]*pb.Write, 0, len(fuzzDocuments))
	for _, name := range fuzzDocuments {
		writes = append(writes, &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{Name: name, Fields: fuzzFields()}}})
	}
	if _, err := pb.NewFirestoreClient(f.conn).Commit(ctx, &pb.CommitRequest{Database: fuzzDatabase, Writes: writes}); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// serves commits again, and reads what that wrote.
func (f *fuzzTarget) serves(ctx context.Context, t *testing.T) {
	f.commit(ctx, t)
	query := &pb.StructuredQuery{From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: "c", AllDescendants: true}}}
	data, err := proto.Marshal(&pb.RunQueryRequest{Parent: fuzzRoot, QueryType: &pb.RunQueryRequest_StructuredQuery{StructuredQuery: query}})
	if err != nil {
		t.Fatal(err)
	}
	m := fuzzMethods().ByName("RunQuery")
	answers, err := f.stream(ctx, m, [][]byte{data})
	if err == nil {
		err = decode(m.Output(), answers)
	}
	if err != nil || len(answers) < 2 {
		t.Fatalf("afterwards a query that finds two documents or more gets %d answers and %v", len(answers), err)
	}
}

// decode reports whether all of data are messages of that type.
func decode(d protoreflect.MessageDescriptor, data [][]byte) error {
	for _, b := range data {
		if err := proto.Unmarshal(b, dynamicpb.NewMessage(d)); err != nil {
			return err
		}
	}
	return nil
}

// rawCodec sends and receives bytes as they are.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// FuzzAdminRequests switches faults on, and drops streams, by any body: what is
// taken is listed and can be switched off, and nothing of it is the server's own
// failure.
func FuzzAdminRequests(f *testing.F) {
	f.Add(`{"method":"Commit","collection":"c","code":"ABORTED","times":1}`)
	f.Add(`{"method":"Listen","code":"OK","hard":true}`)
	f.Add(`{"share":1e308,"seed":18446744073709551615,"skip":-1,"delay":"-2562047h47m16.854775808s","stall":true}`)
	f.Add(`{"loseResponse":true,"message":"\u0000"} {}`)
	f.Add(`null`)
	target := newFuzzTarget(f)
	handler := target.server.AdminHandler()
	do := func(t *testing.T, method, path, body string) (int, []byte) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return w.Code, w.Body.Bytes()
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/faults", "/streams/drop"} {
			if status, answer := do(t, http.MethodPost, path, body); status >= 500 || !json.Valid(answer) {
				t.Fatalf("%s: got %d: %s", path, status, answer)
			}
		}
		for _, path := range []string{"/faults", "/billing"} {
			if status, answer := do(t, http.MethodGet, path, ""); status != http.StatusOK || !json.Valid(answer) {
				t.Fatalf("%s: got %d: %s", path, status, answer)
			}
		}
		if status, answer := do(t, http.MethodDelete, "/faults", ""); status != http.StatusNoContent || len(target.server.Faults().List()) > 0 {
			t.Fatalf("switched off with %d: %s", status, answer)
		}
		target.serves(t.Context(), t)
	})
}
