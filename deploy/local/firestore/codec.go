package firestore

import (
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that this one extends
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// encoded is a response that is already bytes. A document goes from memory to the
// wire without being decoded.
type encoded []byte

// codec is gRPC's protobuf codec, able to send encoded responses too.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Field numbers of the responses that carry documents.
const (
	queryDocument = 1
	queryReadTime = 3
	queryDone     = 6

	batchFound    = 1
	batchReadTime = 4

	listenChange    = 3
	changeDocument  = 1
	changeTargetIDs = 5
)

// appendRecord adds a record as a Document in the field given.
func appendRecord(b []byte, number protowire.Number, database string, r *record, mask *projection) []byte {
	doc := r.appendDocument(make([]byte, 0, len(r.fields)+len(r.path)+len(database)+48), database, mask)
	b = protowire.AppendTag(b, number, protowire.BytesType)
	return protowire.AppendBytes(b, doc)
}

func capacity(database string, r *record) int {
	return len(r.fields) + len(r.path) + len(database) + 96
}

// queryResult is a RunQueryResponse with a document, maybe the last one.
func queryResult(database string, r *record, mask *projection, at micros, last bool) encoded {
	b := appendRecord(make([]byte, 0, capacity(database, r)), queryDocument, database, r, mask)
	b = appendTimestamp(b, queryReadTime, at)
	if last {
		b = protowire.AppendVarint(protowire.AppendTag(b, queryDone, protowire.VarintType), 1)
	}
	return encoded(b)
}

// batchResult is a BatchGetDocumentsResponse with a document that was found.
func batchResult(database string, r *record, mask *projection, at micros) encoded {
	b := appendRecord(make([]byte, 0, capacity(database, r)), batchFound, database, r, mask)
	return encoded(appendTimestamp(b, batchReadTime, at))
}

// listenChanged is a ListenResponse with a document that entered a target's
// result or changed within it.
func listenChanged(database string, r *record, mask *projection, target int32) encoded {
	change := appendRecord(make([]byte, 0, capacity(database, r)), changeDocument, database, r, mask)
	change = protowire.AppendTag(change, changeTargetIDs, protowire.VarintType)
	change = protowire.AppendVarint(change, uint64(target))
	b := protowire.AppendTag(make([]byte, 0, len(change)+8), listenChange, protowire.BytesType)
	return encoded(protowire.AppendBytes(b, change))
}

// listenGone is a ListenResponse for a document that left a target's result.
func listenGone(database string, n notice, at micros) *pb.ListenResponse {
	name, ids := database+"/documents/"+n.path, []int32{n.t.id}
	if n.kind == deleted {
		return &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentDelete{DocumentDelete: &pb.DocumentDelete{
			Document: name, RemovedTargetIds: ids, ReadTime: at.proto(),
		}}}
	}
	return &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentRemove{DocumentRemove: &pb.DocumentRemove{
		Document: name, RemovedTargetIds: ids, ReadTime: at.proto(),
	}}}
}
