package firestore

import (
	"bytes"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// write is one write of a commit, checked and read as far as can be without the
// document's present state: the less is done under the lock.
type write struct {
	name         string // full resource name
	path         string
	delete       bool
	whole        []byte    // the new fields of a write without a mask or transforms
	fields       fieldList // the new fields otherwise
	mask         []fieldPath
	masked       bool
	values       []*pb.Value // for each path of mask, nil where the field goes
	transforms   []transform
	precondition *pb.Precondition
}

// newWrite reads one write of a request to database.
func newWrite(database string, w *pb.Write) (*write, error) {
	out := &write{precondition: w.GetCurrentDocument()}
	ops := w.GetUpdateTransforms()
	switch op := w.GetOperation().(type) {
	case *pb.Write_Update:
		out.name = op.Update.GetName()
	case *pb.Write_Delete:
		out.name, out.delete = op.Delete, true
	case *pb.Write_Transform:
		out.name, out.masked = op.Transform.GetDocument(), true
		ops = append(op.Transform.GetFieldTransforms(), ops...)
	default:
		return nil, status.Error(codes.InvalidArgument, "A write must name its operation.")
	}
	in, path, err := splitDocumentName(out.name)
	if err != nil {
		return nil, err
	}
	if in != database {
		return nil, status.Errorf(codes.InvalidArgument, "Document %q is not in database %q", clip(out.name), clip(database))
	}
	out.path = path
	if out.transforms, err = newTransforms(ops); err != nil {
		return nil, err
	}
	if out.delete && (len(ops) > 0 || w.GetUpdateMask() != nil) {
		return nil, status.Error(codes.InvalidArgument, "A delete takes neither a mask nor transforms.")
	}
	return out, out.readFields(w)
}

func (w *write) readFields(in *pb.Write) error {
	values := in.GetUpdate().GetFields()
	if err := checkFields(values); err != nil {
		return err
	}
	fields := newFieldList(values)
	if in.GetUpdateMask() == nil {
		if w.fields = fields; len(w.transforms) == 0 {
			w.whole = fields.encode()
		}
		return nil
	}
	var err error
	w.masked = true
	if w.mask, err = parseFieldPaths(in.GetUpdateMask().GetFieldPaths()); err != nil {
		return err
	}
	for _, path := range w.mask {
		for _, name := range path {
			if err := checkFieldName(name); err != nil {
				return err
			}
		}
		w.values = append(w.values, fields.get(path))
	}
	return nil
}

// apply computes what the document becomes (nil: nothing there) and the result
// for the client. A write that changes nothing returns current itself, and the
// update time stays.
func (w *write) apply(current *record, at micros) (*record, *pb.WriteResult, error) {
	if err := w.check(current); err != nil {
		return nil, nil, err
	}
	if w.delete {
		return nil, &pb.WriteResult{}, nil
	}
	fields, results := w.merge(current, at)
	if err := checkSize(w.name, fields); err != nil {
		return nil, nil, err
	}
	next := current
	switch {
	case current == nil:
		next = newRecord(w.path, at, at, fields)
	case !bytes.Equal(fields, current.fields):
		next = newRecord(w.path, current.created, at, fields)
	}
	return next, &pb.WriteResult{UpdateTime: next.updated.proto(), TransformResults: results}, nil
}

func (w *write) merge(current *record, at micros) (fields []byte, results []*pb.Value) {
	if w.whole != nil {
		return w.whole, nil
	}
	list := w.fields
	if w.masked {
		list = nil
		if current != nil {
			list = parseFields(current.fields, make(fieldList, 0, 24))
		}
		for i, path := range w.mask {
			if w.values[i] == nil {
				list = list.remove(path)
			} else {
				list = list.set(path, w.values[i])
			}
		}
	}
	for _, t := range w.transforms {
		// Transforms come after the write itself: those of a write without a mask
		// never see the document that it replaces.
		next, result := t.apply(list.get(t.path), at)
		list = list.set(t.path, next)
		results = append(results, result)
	}
	return list.encode(), results
}

// check holds the document's present state to the write's precondition.
func (w *write) check(current *record) error {
	switch c := w.precondition.GetConditionType().(type) {
	case *pb.Precondition_Exists:
		if c.Exists && current == nil {
			return status.Errorf(codes.NotFound, "No document to update: %s", w.name)
		}
		if !c.Exists && current != nil {
			return status.Errorf(codes.AlreadyExists, "Document already exists: %s", w.name)
		}
	case *pb.Precondition_UpdateTime:
		var stored micros
		if current != nil {
			stored = current.updated
		}
		if want := c.UpdateTime; current == nil || !want.AsTime().Equal(stored.time()) {
			return status.Errorf(codes.FailedPrecondition,
				"the stored version (%d) does not match the required base version (%d)",
				stored, microsOf(want))
		}
	}
	return nil
}
