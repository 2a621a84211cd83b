package postgres

import (
	"fmt"
	"slices"
	"strings"
)

func parse[T ~string](column, text string, all []T) (T, error) {
	if v := T(text); slices.Contains(all, v) {
		return v, nil
	}
	return "", fmt.Errorf("%s %s", column, unknown(text, all))
}

// unknown is the problem with a value that is none of an enum's.
func unknown[T ~string](text string, all []T) string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = string(v)
	}
	return fmt.Sprintf("is %q, want one of %s", bounded(text), strings.Join(names, ", "))
}

// bounded keeps an error from holding more of a foreign text than tells which it is.
func bounded(text string) string {
	const most = 64
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
