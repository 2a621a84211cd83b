package demo

// recent is a map that forgets: it keeps at least the last keep keys that were
// set, and at most twice as many.
type recent[K comparable, V any] struct {
	keep       int
	young, old map[K]V
}

func newRecent[K comparable, V any](keep int) *recent[K, V] {
	return &recent[K, V]{keep: keep, young: map[K]V{}}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	if v, ok := r.young[key]; ok {
		return v, true
	}
	v, ok := r.old[key]
	return v, ok
}

func (r *recent[K, V]) set(key K, value V) {
	if len(r.young) >= r.keep {
		r.old, r.young = r.young, make(map[K]V, r.keep)
	}
	r.young[key] = value
}
