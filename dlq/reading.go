package dlq

import "time"

// reading takes values out of a document's fields. What is missing or of
// another type reads as zero.
type reading map[string]any

func (r reading) text(name string) string {
	s, _ := r[name].(string)
	return s
}

func (r reading) integer(name string) int64 {
	switch v := r[name].(type) {
	case int64:
		return v
	case int:
		return int64(v)
	}
	return 0
}

func (r reading) flag(name string) bool {
	b, _ := r[name].(bool)
	return b
}

func (r reading) time(name string) time.Time {
	t, _ := r[name].(time.Time)
	return t
}

func (r reading) object(name string) map[string]any {
	m, _ := r[name].(map[string]any)
	return m
}

func (r reading) list(name string) []any {
	l, _ := r[name].([]any)
	return l
}

func (r reading) texts(name string) []string {
	var out []string
	for _, v := range r.list(name) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (r reading) objects(name string) []reading {
	var out []reading
	for _, v := range r.list(name) {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
