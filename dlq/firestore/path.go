package firestore

import (
	"slices"
	"strings"
)

// path leads to a field, through maps.
type path []string

// below leads one map further down. Of no path there is none below.
func (p path) below(name string) path {
	if p == nil {
		return nil
	}
	return append(slices.Clip(p), name)
}

// String quotes names that are no plain words, as Firestore has it.
func (p path) String() string {
	if len(p) == 1 && isWord(p[0]) {
		return p[0]
	}
	var b strings.Builder
	for i, name := range p {
		if i > 0 {
			b.WriteByte('.')
		}
		if isWord(name) {
			b.WriteString(name)
			continue
		}
		b.WriteByte('`')
		for _, c := range []byte(name) {
			if c == '`' || c == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		}
		b.WriteByte('`')
	}
	return b.String()
}

// isWord reports whether a name needs no quotes.
func isWord(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return name != ""
}
