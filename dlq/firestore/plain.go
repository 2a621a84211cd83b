package firestore

import (
	"cloud.google.com/go/firestore"
	"google.golang.org/genproto/googleapis/type/latlng"
)

// Plain turns the SDK's own types within m into plain Go values, in place:
// references into their paths, locations into maps, vectors into lists.
func Plain(m map[string]any) map[string]any {
	for k, v := range m {
		m[k] = plain(v)
	}
	return m
}

func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return Plain(v)
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
