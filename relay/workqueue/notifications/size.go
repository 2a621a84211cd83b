package notifications

import "time"

// sizeOf is about what Firestore counts for a value, in bytes.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 1
	case []byte:
		return len(v)
	case []any:
		n := 0
		for _, e := range v {
			n += sizeOf(e)
		}
		return n
	case map[string]any:
		n := 0
		for name, e := range v {
			n += len(name) + 1 + sizeOf(e)
		}
		return n
	case time.Time, int64, float64:
		return 8
	default:
		return 16
	}
}

// depthOf is how many maps and lists lie within one another.
func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	default:
		return 0
	}
	return deepest + 1
}
