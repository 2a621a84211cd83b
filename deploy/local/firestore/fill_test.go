package firestore_test

import (
	"math"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	fuzzDatabase = "projects/test/databases/(default)"
	fuzzRoot     = fuzzDatabase + "/documents"
)

// fuzzDocuments are there when a fuzzed call is made.
var fuzzDocuments = []string{fuzzRoot + "/c/1", fuzzRoot + "/c/2", fuzzRoot + "/c/1/sub/x"}

func fuzzFields() map[string]*pb.Value {
	return map[string]*pb.Value{
		"a": {ValueType: &pb.Value_IntegerValue{IntegerValue: 1}},
		"b": {ValueType: &pb.Value_StringValue{StringValue: "x"}},
		"m": {ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: map[string]*pb.Value{"k": {ValueType: &pb.Value_NullValue{}}}}}},
	}
}

// fuzzStrings are the words that a filled request is made of: names that exist,
// that do not, and that cannot.
var fuzzStrings = []string{
	fuzzDatabase, fuzzRoot, fuzzRoot + "/c/1", fuzzRoot + "/c/2", fuzzRoot + "/c/1/sub/x", fuzzRoot + "/c/none", "c", "sub", "1", "2", "a", "b", "m.k",
	"a.b.c", "`a b`", "`", "__name__", "__type__", "__vector__", "value", "", ".", "..", "a..b", "/", "__x__", fuzzRoot + "/c", fuzzRoot + "/c/1/sub", fuzzRoot + "//",
	"projects/test/databases/other/documents/c/1", "projects//databases//documents", "c/1/sub", "\x00", "ö", strings.Repeat("x", 1501),
}

// fuzzSource makes messages of bytes. Without bytes left it sets nothing more.
type fuzzSource struct{ data []byte }

func (s *fuzzSource) next() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

// fuzzDepth lets values nest deeper than Firestore takes.
const fuzzDepth = 50

func (s *fuzzSource) fill(m protoreflect.Message, depth int) {
	if depth > fuzzDepth {
		return
	}
	oneofs := m.Descriptor().Oneofs()
	for i := range oneofs.Len() {
		fields := oneofs.Get(i).Fields()
		if n := int(s.next()); n > 0 { // one in 256 is left out
			s.set(m, fields.Get((n-1)%fields.Len()), depth)
		}
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.ContainingOneof() == nil && s.next()%3 > 0 {
			s.set(m, f, depth)
		}
	}
}

func (s *fuzzSource) set(m protoreflect.Message, f protoreflect.FieldDescriptor, depth int) {
	switch {
	case f.IsMap():
		values := m.Mutable(f).Map()
		for range s.next() % 4 {
			key := s.scalar(f.MapKey()).MapKey()
			if f.MapValue().Message() == nil {
				values.Set(key, s.scalar(f.MapValue()))
				continue
			}
			s.fill(values.Mutable(key).Message(), depth+1)
		}
	case f.IsList():
		list := m.Mutable(f).List()
		for range s.next() % 4 {
			if f.Message() == nil {
				list.Append(s.scalar(f))
				continue
			}
			s.fill(list.AppendMutable().Message(), depth+1)
		}
	case f.Message() != nil:
		s.fill(m.Mutable(f).Message(), depth+1)
	default:
		m.Set(f, s.scalar(f))
	}
}

func (s *fuzzSource) scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	n := s.next()
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n % 16)) // some that are not declared
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32([]int32{0, 1, 2, -1, math.MaxInt32, math.MinInt32, 1_000_000_000}[n%7])
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64([]int64{0, 1, 2, -1, math.MaxInt64, math.MinInt64, -62135596800, 253402300800}[n%8])
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, 1, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 1.5, 200}[n%9])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(fuzzStrings[int(n)%len(fuzzStrings)]))
	default: // Firestore's requests have no other kind
		return protoreflect.ValueOfString(fuzzStrings[int(n)%len(fuzzStrings)])
	}
}

// soundRequests are requests for the fuzzer to start from.
func soundRequests() []proto.Message {
	doc := &pb.Document{Name: fuzzDocuments[0], Fields: fuzzFields()}
	query := &pb.StructuredQuery{
		From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: "c"}},
		Where: &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{FieldFilter: &pb.StructuredQuery_FieldFilter{
			Field: &pb.StructuredQuery_FieldReference{FieldPath: "a"}, Op: pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL, Value: fuzzFields()["a"],
		}}},
		OrderBy: []*pb.StructuredQuery_Order{{Field: &pb.StructuredQuery_FieldReference{FieldPath: "a"}, Direction: pb.StructuredQuery_DESCENDING}},
		StartAt: &pb.Cursor{Values: []*pb.Value{fuzzFields()["a"]}}, Limit: wrapperspb.Int32(5), Offset: 1,
	}
	writes := []*pb.Write{
		{Operation: &pb.Write_Update{Update: doc}, UpdateMask: &pb.DocumentMask{FieldPaths: []string{"a", "m.k"}}, CurrentDocument: &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: true}}},
		{Operation: &pb.Write_Delete{Delete: fuzzDocuments[1]}},
		{Operation: &pb.Write_Transform{Transform: &pb.DocumentTransform{Document: fuzzDocuments[2], FieldTransforms: []*pb.DocumentTransform_FieldTransform{
			{FieldPath: "a", TransformType: &pb.DocumentTransform_FieldTransform_Increment{Increment: fuzzFields()["a"]}},
			{FieldPath: "t", TransformType: &pb.DocumentTransform_FieldTransform_SetToServerValue{SetToServerValue: pb.DocumentTransform_FieldTransform_REQUEST_TIME}},
		}}}},
	}
	return []proto.Message{
		&pb.GetDocumentRequest{Name: fuzzDocuments[0], ConsistencySelector: &pb.GetDocumentRequest_ReadTime{ReadTime: timestamppb.Now()}},
		&pb.ListDocumentsRequest{Parent: fuzzRoot, CollectionId: "c", PageSize: 1, OrderBy: "a desc", ShowMissing: true},
		&pb.UpdateDocumentRequest{Document: doc},
		&pb.CreateDocumentRequest{Parent: fuzzRoot, CollectionId: "c", DocumentId: "3", Document: &pb.Document{Fields: fuzzFields()}},
		&pb.DeleteDocumentRequest{Name: fuzzDocuments[0]},
		&pb.BatchGetDocumentsRequest{Database: fuzzDatabase, Documents: fuzzDocuments, ConsistencySelector: &pb.BatchGetDocumentsRequest_NewTransaction{NewTransaction: &pb.TransactionOptions{}}},
		&pb.BeginTransactionRequest{Database: fuzzDatabase},
		&pb.CommitRequest{Database: fuzzDatabase, Writes: writes},
		&pb.RollbackRequest{Database: fuzzDatabase, Transaction: []byte("x")},
		&pb.RunQueryRequest{Parent: fuzzRoot, QueryType: &pb.RunQueryRequest_StructuredQuery{StructuredQuery: query}},
		&pb.RunAggregationQueryRequest{Parent: fuzzRoot, QueryType: &pb.RunAggregationQueryRequest_StructuredAggregationQuery{StructuredAggregationQuery: &pb.StructuredAggregationQuery{
			QueryType:    &pb.StructuredAggregationQuery_StructuredQuery{StructuredQuery: query},
			Aggregations: []*pb.StructuredAggregationQuery_Aggregation{{Alias: "n", Operator: &pb.StructuredAggregationQuery_Aggregation_Count_{Count: &pb.StructuredAggregationQuery_Aggregation_Count{}}}},
		}}},
		&pb.PartitionQueryRequest{Parent: fuzzRoot, PartitionCount: 2, QueryType: &pb.PartitionQueryRequest_StructuredQuery{StructuredQuery: query}},
		&pb.ListCollectionIdsRequest{Parent: fuzzDocuments[0]},
		&pb.BatchWriteRequest{Database: fuzzDatabase, Writes: writes},
		&pb.WriteRequest{Database: fuzzDatabase, Writes: writes},
		&pb.ListenRequest{Database: fuzzDatabase, TargetChange: &pb.ListenRequest_AddTarget{AddTarget: &pb.Target{
			TargetId: 1, TargetType: &pb.Target_Query{Query: &pb.Target_QueryTarget{Parent: fuzzRoot, QueryType: &pb.Target_QueryTarget_StructuredQuery{StructuredQuery: query}}},
		}}},
	}
}
