package simulation

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"outboxrelay/dlq"
)

// stored is a value as Firestore keeps it and plain Go reads it again.
func stored(v any, at time.Time) any {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, []byte:
		return v
	case dlq.ServerTime:
		return at
	case time.Time:
		return v.UTC().Truncate(time.Microsecond)
	case int:
		return int64(v)
	case []string:
		return storedList(v, at)
	case []any:
		return storedList(v, at)
	case []map[string]any:
		return storedList(v, at)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = stored(field, at)
		}
		return out
	}
	panic(fmt.Sprintf("a value of type %T is written to the simulated Firestore, which does not know it", v))
}

func storedList[T any](list []T, at time.Time) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = stored(v, at)
	}
	return out
}

// united adds members to a list that lacks them.
func united(list any, members []string) []any {
	have, _ := list.([]any)
	have = slices.Clone(have)
	for _, m := range members {
		if !slices.Contains(have, any(m)) {
			have = append(have, m)
		}
	}
	return have
}

func equalValues(a, b map[string]any) bool { return reflect.DeepEqual(a, b) }

// copied is a deep copy, for a reader to keep.
func copied(fields map[string]any) map[string]any {
	return stored(fields, time.Time{}).(map[string]any)
}

// field finds a field by its path.
func field(fields map[string]any, path string) (v any, ok bool) {
	name, rest, deeper := strings.Cut(path, ".")
	if v, ok = fields[name]; !ok || !deeper {
		return v, ok
	}
	within, _ := v.(map[string]any)
	return field(within, rest)
}

// rank orders values of different types as Firestore does.
func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case int64, float64:
		return 2
	case time.Time:
		return 3
	case string:
		return 4
	case []byte:
		return 5
	case []any:
		return 6
	}
	return 7
}

// compare orders two values.
func compare(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case bool:
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	case int64, float64:
		return cmp.Compare(numeric(a), numeric(b))
	case time.Time:
		return a.Compare(b.(time.Time))
	case string:
		return cmp.Compare(a, b.(string))
	}
	return 0
}

func numeric(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
