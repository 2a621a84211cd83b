package firestore

import (
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/genproto/googleapis/type/latlng"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

func document(snap *firestore.DocumentSnapshot, readTime time.Time) relay.Doc {
	d := relay.Doc{
		ID: snap.Ref.ID, CreateTime: snap.CreateTime, UpdateTime: snap.UpdateTime, ReadTime: readTime,
		Fields: func() map[string]any { return plainMap(snap.Data()) },
		Raw:    snap.Data,
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{contracts.FieldCreatedAt}); err == nil {
		d.CreatedAt, _ = v.(time.Time)
	}
	if v, err := snap.DataAtPath(firestore.FieldPath{relay.FieldCanary}); err == nil {
		d.Nonce, _ = v.(string)
	}
	return d
}

// plainMap turns the SDK's own types into plain values, in place: references
// into their paths, locations into maps.
func plainMap(m map[string]any) map[string]any {
	for k, v := range m {
		m[k] = plain(v)
	}
	return m
}

func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return plainMap(v)
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case *firestore.DocumentRef:
		if v == nil {
			return nil
		}
		return v.Path
	case *latlng.LatLng:
		return map[string]any{"latitude": v.GetLatitude(), "longitude": v.GetLongitude()}
	case firestore.Vector64:
		return floats(v)
	case firestore.Vector32:
		return floats(v)
	}
	return v
}

func floats[F float32 | float64](v []F) []any {
	out := make([]any, len(v))
	for i, f := range v {
		out[i] = float64(f)
	}
	return out
}
