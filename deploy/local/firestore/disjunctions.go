package firestore

import (
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxDisjunctions is how many alternatives a query may come to.
const maxDisjunctions = 30

// alternative is a set of comparisons that must all hold, sorted by their text.
type alternative []comparison

// comparison is a filter with one value, known by its text.
type comparison struct {
	text     string
	contains bool // it asks an array for an element
}

var errDisjunctions = status.Errorf(codes.InvalidArgument, "Too many disjunctions after normalization: more than the maximum of %d.", maxDisjunctions)

// checkDisjunctions refuses a filter that comes to more alternatives than Firestore
// runs, or to one that asks for two elements of arrays.
func checkDisjunctions(where *pb.StructuredQuery_Filter) error {
	all, err := alternativesOf(where)
	if err != nil {
		return err
	}
	for _, a := range all {
		n := 0
		for _, c := range a {
			if c.contains {
				n++
			}
		}
		if n > 1 {
			return status.Error(codes.InvalidArgument, "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")
		}
	}
	return nil
}

// alternativesOf brings a filter into disjunctive normal form, without repeats. What
// is true of all documents that another alternative is true of remains, as on Firestore.
func alternativesOf(f *pb.StructuredQuery_Filter) ([]alternative, error) {
	switch t := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_CompositeFilter:
		if t.CompositeFilter.GetOp() == pb.StructuredQuery_CompositeFilter_OR {
			return anyAlternative(t.CompositeFilter.GetFilters())
		}
		return allAlternatives(t.CompositeFilter.GetFilters())
	case *pb.StructuredQuery_Filter_FieldFilter:
		return comparisonsOf(t.FieldFilter), nil
	}
	return []alternative{{{text: textOf(f)}}}, nil
}

// comparisonsOf takes a list apart: each of its values is an alternative.
func comparisonsOf(f *pb.StructuredQuery_FieldFilter) []alternative {
	op, values := f.GetOp(), []*pb.Value{f.GetValue()}
	switch op {
	case pb.StructuredQuery_FieldFilter_IN:
		op, values = pb.StructuredQuery_FieldFilter_EQUAL, f.GetValue().GetArrayValue().GetValues()
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		values = f.GetValue().GetArrayValue().GetValues()
	}
	var out []alternative
	for _, v := range values {
		one := &pb.StructuredQuery_FieldFilter{Field: f.GetField(), Op: op, Value: v}
		text := textOf(&pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_FieldFilter{FieldFilter: one}})
		out = appendNew(out, alternative{{text, containsElement(op)}})
	}
	return out
}

func anyAlternative(filters []*pb.StructuredQuery_Filter) (out []alternative, err error) {
	for _, f := range filters {
		part, err := alternativesOf(f)
		if err != nil {
			return nil, err
		}
		for _, a := range part {
			if out = appendNew(out, a); len(out) > maxDisjunctions {
				return nil, errDisjunctions
			}
		}
	}
	return out, nil
}

// allAlternatives joins each alternative of a filter with each of the others. A
// filter that is there twice counts once.
func allAlternatives(filters []*pb.StructuredQuery_Filter) ([]alternative, error) {
	out := []alternative{{}}
	seen := map[string]bool{}
	for _, f := range filters {
		text := textOf(f)
		if seen[text] {
			continue
		}
		seen[text] = true
		part, err := alternativesOf(f)
		if err != nil {
			return nil, err
		}
		var next []alternative
		for _, a := range out {
			for _, b := range part {
				if next = appendNew(next, a.and(b)); len(next) > maxDisjunctions {
					return nil, errDisjunctions
				}
			}
		}
		out = next
	}
	return out, nil
}

func (a alternative) and(b alternative) alternative {
	both := slices.Concat(a, b)
	slices.SortFunc(both, func(x, y comparison) int { return strings.Compare(x.text, y.text) })
	return slices.Compact(both)
}

func appendNew(all []alternative, a alternative) []alternative {
	if slices.ContainsFunc(all, func(b alternative) bool { return slices.Equal(a, b) }) {
		return all
	}
	return append(all, a)
}

// textOf is equal for equal filters.
func textOf(f *pb.StructuredQuery_Filter) string {
	raw, _ := deterministic.Marshal(f) // fails on invalid UTF-8 only, which decoding refused
	return string(raw)
}

// containsElement reports whether a filter asks an array for an element.
func containsElement(op pb.StructuredQuery_FieldFilter_Operator) bool {
	return op == pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS || op == pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY
}
