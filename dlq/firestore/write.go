package firestore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"outboxrelay/dlq"
)

// encoder renders the writes of one commit as protobuf. The messages share what is
// the same in a row of them, and are only read.
type encoder struct {
	client     *Client
	collection string // whose prefix is that of the documents' names
	prefix     string
	mask       *pb.DocumentMask // of the write before
	strings    map[string]*pb.Value
	times      map[time.Time]*pb.Value
}

// write returns nil for a merge that says nothing.
func (e *encoder) write(w dlq.Write) (*pb.Write, error) {
	name, err := e.name(w)
	if err != nil {
		return nil, err
	}
	if w.Op == dlq.OpDelete {
		unchanged, err := unchangedSince(w)
		return &pb.Write{Operation: &pb.Write_Delete{Delete: name}, CurrentDocument: unchanged}, err
	}
	f := fields{encoder: e, in: make(map[string]*pb.Value, len(w.Fields))}
	out := &pb.Write{}
	switch w.Op {
	case dlq.OpCreate:
		err = f.whole(w)
		out.CurrentDocument = &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: false}}
		if len(f.in) == 0 && len(f.transforms) > 0 {
			out.UpdateMask = &pb.DocumentMask{}
		}
	case dlq.OpSet:
		if err = f.whole(w); err == nil {
			out.CurrentDocument, err = unchangedSince(w)
		}
	case dlq.OpMerge:
		err = f.merge(w)
		if len(f.paths) == 0 && len(f.transforms) == 0 && len(w.Fields)+len(w.Union) > 0 {
			return nil, err
		}
		out.UpdateMask = e.maskOf(f.paths)
	case dlq.OpUpdate:
		if err = f.update(w); err != nil {
			return nil, err
		}
		out.UpdateMask = e.maskOf(f.paths)
		if out.CurrentDocument, err = unchangedSince(w); out.CurrentDocument == nil {
			out.CurrentDocument = mustExist
		}
	default:
		err = fmt.Errorf("a write of kind %d", w.Op)
	}
	if err != nil {
		return nil, err
	}
	out.Operation = &pb.Write_Update{Update: &pb.Document{Name: name, Fields: f.in}}
	out.UpdateTransforms = f.transforms
	return out, nil
}

var mustExist = &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: true}}

// unchangedSince is w's precondition, nil where it has none.
func unchangedSince(w dlq.Write) (*pb.Precondition, error) {
	if w.IfUnchangedSince.IsZero() {
		return nil, nil
	}
	at := timestamppb.New(w.IfUnchangedSince)
	return &pb.Precondition{ConditionType: &pb.Precondition_UpdateTime{UpdateTime: at}}, at.CheckValid()
}

// name is the document's, in full.
func (e *encoder) name(w dlq.Write) (string, error) {
	if e.collection != w.Collection || e.prefix == "" {
		parts := strings.Split(w.Collection, "/")
		if len(parts)%2 == 0 || slices.Contains(parts, "") {
			return "", fmt.Errorf("%q is no collection", w.Collection)
		}
		e.collection, e.prefix = w.Collection, e.client.database+"/documents/"+w.Collection+"/"
	}
	return e.prefix + w.ID, nil
}

// maskOf returns a mask of the paths, in order.
func (e *encoder) maskOf(paths []string) *pb.DocumentMask {
	slices.Sort(paths)
	if e.mask == nil || !slices.Equal(e.mask.GetFieldPaths(), paths) {
		e.mask = &pb.DocumentMask{FieldPaths: paths}
	}
	return e.mask
}

// fields collects what one write does to its document.
type fields struct {
	*encoder
	in         map[string]*pb.Value
	paths      []string // that the write changes; sent if it does not replace the document
	transforms []*pb.DocumentTransform_FieldTransform
}

// whole takes the fields of a document that is replaced.
func (f *fields) whole(w dlq.Write) error {
	for _, name := range slices.Sorted(maps.Keys(w.Fields)) {
		if err := f.put(name, w.Fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// put sets a field that is never deleted.
func (f *fields) put(name string, v any) error {
	value, err := f.value(v, path{name})
	if err == nil && value != nil {
		f.in[name] = value
	}
	return err
}

// update takes fields that are replaced one by one.
func (f *fields) update(w dlq.Write) error {
	if len(w.Fields)+len(w.Union) == 0 {
		return errors.New("no fields to update")
	}
	f.paths = make([]string, 0, len(w.Fields))
	for name, v := range w.Fields {
		if name == "" {
			return errors.New("a field without a name")
		}
		if _, both := w.Union[name]; both {
			return fmt.Errorf("field %q is set and added to at once", name)
		}
		if _, now := v.(dlq.ServerTime); !now {
			f.paths = append(f.paths, path{name}.String())
		}
		if v == nil {
			continue // named in the mask alone, it is deleted
		}
		if err := f.put(name, v); err != nil {
			return err
		}
	}
	if _, unnamed := w.Union[""]; unnamed {
		return errors.New("a field without a name")
	}
	f.unite(w)
	return nil
}

// merge takes fields whose maps are merged in turn.
func (f *fields) merge(w dlq.Write) error {
	for name, v := range w.Fields {
		if _, both := w.Union[name]; both {
			continue
		}
		at := path{name}
		if v == nil {
			f.paths = append(f.paths, at.String())
			continue
		}
		if err := f.mergeAt(at, v, f.in); err != nil {
			return err
		}
	}
	f.unite(w)
	return nil
}

func (f *fields) mergeAt(at path, v any, into map[string]*pb.Value) error {
	within, isMap := mapOf(v)
	if !isMap {
		if _, now := v.(dlq.ServerTime); !now {
			f.paths = append(f.paths, at.String())
		}
		value, err := f.value(v, at)
		if err == nil && value != nil {
			into[at[len(at)-1]] = value
		}
		return err
	}
	inner := make(map[string]*pb.Value, len(within))
	for name, item := range within {
		if err := f.mergeAt(at.below(name), item, inner); err != nil {
			return err
		}
	}
	if len(inner) > 0 {
		into[at[len(at)-1]] = &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: inner}}}
	}
	return nil
}

func (f *fields) unite(w dlq.Write) {
	if len(w.Union) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.Union)) {
		members := &pb.ArrayValue{}
		for _, m := range w.Union[name] {
			members.Values = append(members.Values, f.text(m))
		}
		f.transforms = append(f.transforms, &pb.DocumentTransform_FieldTransform{
			FieldPath:     path{name}.String(),
			TransformType: &pb.DocumentTransform_FieldTransform_AppendMissingElements{AppendMissingElements: members},
		})
	}
}
