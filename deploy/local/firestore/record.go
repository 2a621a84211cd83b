package firestore

import (
	"unsafe"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/encoding/protowire"
)

// record is one version of a document. It is never changed: a write makes a new
// one, so readers use it without a lock and pointers tell versions apart.
type record struct {
	path       string // below the database's root: "outbox/id"
	collection int    // length of the collection's part of path
	created    micros
	updated    micros
	fields     []byte // as fieldList.encode wrote them
}

func newRecord(path string, created, updated micros, fields []byte) *record {
	return &record{path: path, collection: len(parentOf(path)), created: created, updated: updated, fields: fields}
}

func (r *record) parent() string { return r.path[:r.collection] }

func (r *record) id() string { return r.path[r.collection+1:] }

// less orders the records of a database by collection, then by ID, so that a
// collection's documents lie together.
func (r *record) less(o *record) bool {
	if r.parent() != o.parent() {
		return r.parent() < o.parent()
	}
	return r.id() < o.id()
}

// appendDocument adds the Document message to b. A nil mask keeps every field.
func (r *record) appendDocument(b []byte, database string, mask *projection) []byte {
	b = protowire.AppendTag(b, documentName, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(database)+len("/documents/")+len(r.path)))
	b = append(append(append(b, database...), "/documents/"...), r.path...)
	if mask == nil {
		b = append(b, r.fields...)
	} else {
		b = append(b, mask.apply(r.fields)...)
	}
	b = appendTimestamp(b, documentCreated, r.created)
	return appendTimestamp(b, documentUpdated, r.updated)
}

// document is the decoded message, for the calls that answer with one.
func (r *record) document(database string, mask *projection) *pb.Document {
	doc := &pb.Document{
		Name:       database + "/documents/" + r.path,
		Fields:     map[string]*pb.Value{},
		CreateTime: r.created.proto(),
		UpdateTime: r.updated.proto(),
	}
	fields := r.fields
	if mask != nil {
		fields = mask.apply(fields)
	}
	for _, f := range parseFields(fields, nil) {
		doc.Fields[string([]byte(f.name))] = f.value()
	}
	return doc
}

// projection is a DocumentMask or a query's select: the fields to return.
type projection struct{ paths []fieldPath }

// newProjection returns nil when every field is wanted.
func newProjection(mask *pb.DocumentMask) (*projection, error) {
	if mask == nil {
		return nil, nil
	}
	paths, err := parseFieldPaths(mask.GetFieldPaths())
	return &projection{paths}, err
}

func (p *projection) apply(fields []byte) []byte {
	all := parseFields(fields, nil)
	var kept fieldList
	for _, path := range p.paths {
		if path.isName() {
			continue
		}
		if v := all.get(path); v != nil {
			kept = kept.set(path, v)
		}
	}
	return kept.encode()
}

func appendTimestamp(b []byte, number protowire.Number, at micros) []byte {
	seconds, nanos := int64(at)/1e6, int64(at)%1e6*1e3
	size := 1 + protowire.SizeVarint(uint64(seconds))
	if nanos != 0 {
		size += 1 + protowire.SizeVarint(uint64(nanos))
	}
	b = protowire.AppendTag(b, number, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = protowire.AppendTag(b, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(seconds))
	if nanos != 0 {
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(nanos))
	}
	return b
}

// bytesString views b as a string without a copy. Stored bytes never change.
func bytesString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
