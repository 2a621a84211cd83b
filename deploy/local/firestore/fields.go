package firestore

import (
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Numbers of the protocol's messages that are read and written as bytes. A stored
// document is never decoded as a whole: its fields lie in memory as they travel.
const (
	documentName    = 1
	documentFields  = 2
	documentCreated = 3
	documentUpdated = 4

	entryKey   = 1
	entryValue = 2
)

var deterministic = proto.MarshalOptions{Deterministic: true}

// field is one top-level field of a document.
type field struct {
	name string
	raw  []byte    // the Value as it travels; nil once value was changed
	val  *pb.Value // decoded on demand
}

func (f *field) value() *pb.Value {
	if f.val == nil {
		f.val = new(pb.Value)
		if err := proto.Unmarshal(f.raw, f.val); err != nil {
			// The bytes were written by this package and are checksummed on disk.
			panic("firestore: stored value cannot be decoded: " + err.Error())
		}
	}
	return f.val
}

// fieldList is a document's fields, ordered by name.
type fieldList []field

// parseFields splits the stored bytes into dst; values stay undecoded and alias b.
func parseFields(b []byte, dst fieldList) fieldList {
	dst = dst[:0]
	for len(b) > 0 {
		_, _, n := protowire.ConsumeTag(b)
		entry, m := protowire.ConsumeBytes(b[n:])
		b = b[n+m:]
		_, _, n = protowire.ConsumeTag(entry)
		name, m := protowire.ConsumeBytes(entry[n:])
		entry = entry[n+m:]
		_, _, n = protowire.ConsumeTag(entry)
		raw, _ := protowire.ConsumeBytes(entry[n:])
		dst = append(dst, field{name: bytesString(name), raw: raw})
	}
	return dst
}

// newFieldList takes over the values of a decoded map.
func newFieldList(values map[string]*pb.Value) fieldList {
	l := make(fieldList, 0, len(values))
	for name, v := range values {
		l = append(l, field{name: name, val: v})
	}
	slices.SortFunc(l, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return l
}

// encode returns the bytes to store. Equal documents encode to equal bytes.
func (l fieldList) encode() []byte {
	size := 0
	for i := range l {
		f := &l[i]
		if f.raw == nil {
			f.raw, _ = deterministic.Marshal(f.val) // fails on invalid UTF-8 only, which decoding refused
		}
		size += 12 + len(f.name) + len(f.raw)
	}
	b := make([]byte, 0, size)
	for i := range l {
		f := &l[i]
		n := 1 + protowire.SizeBytes(len(f.name)) + 1 + protowire.SizeBytes(len(f.raw))
		b = protowire.AppendTag(b, documentFields, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(n))
		b = protowire.AppendTag(b, entryKey, protowire.BytesType)
		b = protowire.AppendString(b, f.name)
		b = protowire.AppendTag(b, entryValue, protowire.BytesType)
		b = protowire.AppendBytes(b, f.raw)
	}
	return slices.Clip(b)
}

func (l fieldList) find(name string) (int, bool) {
	return slices.BinarySearchFunc(l, name, func(f field, name string) int { return strings.Compare(f.name, name) })
}

// get returns the value at path, nil when there is none.
func (l fieldList) get(path fieldPath) *pb.Value {
	i, ok := l.find(path[0])
	if !ok {
		return nil
	}
	v := l[i].value()
	for _, name := range path[1:] {
		fields := v.GetMapValue().GetFields()
		if v = fields[name]; v == nil {
			return nil
		}
	}
	return v
}

// set puts v at path, making maps on the way; what is no map there is replaced.
func (l fieldList) set(path fieldPath, v *pb.Value) fieldList {
	i, ok := l.find(path[0])
	if !ok {
		l = slices.Insert(l, i, field{name: path[0], val: nestedValue(path[1:], v)})
		return l
	}
	if len(path) == 1 {
		l[i] = field{name: l[i].name, val: v}
		return l
	}
	root := l[i].value()
	l[i].raw = nil
	if root.GetMapValue() == nil {
		l[i].val = nestedValue(path[1:], v)
		return l
	}
	at := root.GetMapValue()
	for rest := path[1:]; ; rest = rest[1:] {
		if at.Fields == nil {
			at.Fields = map[string]*pb.Value{}
		}
		next := at.Fields[rest[0]].GetMapValue()
		if len(rest) == 1 || next == nil {
			at.Fields[rest[0]] = nestedValue(rest[1:], v)
			return l
		}
		at = next
	}
}

// remove drops what is at path; absence is no fault.
func (l fieldList) remove(path fieldPath) fieldList {
	i, ok := l.find(path[0])
	if !ok {
		return l
	}
	if len(path) == 1 {
		return slices.Delete(l, i, i+1)
	}
	if l.get(path) == nil {
		return l
	}
	at := l[i].value().GetMapValue()
	l[i].raw = nil
	for _, name := range path[1 : len(path)-1] {
		at = at.Fields[name].GetMapValue()
	}
	delete(at.Fields, path[len(path)-1])
	return l
}

// nestedValue wraps v in a map for each name of path.
func nestedValue(path fieldPath, v *pb.Value) *pb.Value {
	for _, name := range slices.Backward(path) {
		v = &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: map[string]*pb.Value{name: v}}}}
	}
	return v
}
