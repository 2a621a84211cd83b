package indexes

import (
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

var operators = map[byte]pb.StructuredQuery_FieldFilter_Operator{
	'=': pb.StructuredQuery_FieldFilter_EQUAL,
	'#': pb.StructuredQuery_FieldFilter_IN,
	'<': pb.StructuredQuery_FieldFilter_LESS_THAN,
	'!': pb.StructuredQuery_FieldFilter_NOT_IN,
	'~': pb.StructuredQuery_FieldFilter_NOT_EQUAL,
	'@': pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS,
	'&': pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY,
}

// queryText makes a query of the collection "out" of words: "a=" is an equality,
// "a#" one of several, "a<", "a!" and "a~" inequalities, "a?" a test for null, "a@"
// and "a&" an array's membership, "+a" and "-a" are orders. Filters on the two
// sides of a "|" are joined by OR.
func queryText(words string) *pb.StructuredQuery {
	q := &pb.StructuredQuery{From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: "out"}}}
	var or []*pb.StructuredQuery_Filter
	for part := range strings.SplitSeq(words, "|") {
		var and []*pb.StructuredQuery_Filter
		for word := range strings.FieldsSeq(part) {
			if name, down := strings.CutPrefix(word, "-"); down || strings.HasPrefix(word, "+") {
				o := &pb.StructuredQuery_Order{Field: field(strings.TrimPrefix(name, "+")), Direction: pb.StructuredQuery_ASCENDING}
				if down {
					o.Direction = pb.StructuredQuery_DESCENDING
				}
				q.OrderBy = append(q.OrderBy, o)
				continue
			}
			and = append(and, filter(word[:len(word)-1], word[len(word)-1]))
		}
		or = append(or, joinedBy(pb.StructuredQuery_CompositeFilter_AND, and))
	}
	q.Where = or[0]
	if len(or) > 1 {
		q.Where = joinedBy(pb.StructuredQuery_CompositeFilter_OR, or)
	}
	return q
}

func joinedBy(op pb.StructuredQuery_CompositeFilter_Operator, filters []*pb.StructuredQuery_Filter) *pb.StructuredQuery_Filter {
	return &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_CompositeFilter{
		CompositeFilter: &pb.StructuredQuery_CompositeFilter{Op: op, Filters: filters},
	}}
}

func filter(name string, op byte) *pb.StructuredQuery_Filter {
	if op == '?' {
		return &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_UnaryFilter{UnaryFilter: &pb.StructuredQuery_UnaryFilter{
			Op: pb.StructuredQuery_UnaryFilter_IS_NULL, OperandType: &pb.StructuredQuery_UnaryFilter_Field{Field: field(name)},
		}}}
	}
	return &pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{
		FieldFilter: &pb.StructuredQuery_FieldFilter{Field: field(name), Op: operators[op]},
	}}
}

func field(name string) *pb.StructuredQuery_FieldReference {
	return &pb.StructuredQuery_FieldReference{FieldPath: name}
}
