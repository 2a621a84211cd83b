package outbox

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/contracts"
)

// precision is Firestore's, of timestamps.
const precision = time.Microsecond

// plain makes the values of a payload those that Firestore gives back: nil, bool,
// int64, float64, string, []byte, time.Time, []any and map[string]any.
type plain struct{ faults contracts.Faults }

func (p *plain) fault(at path, problem string) {
	p.faults = append(p.faults, contracts.Fault{Field: string(at), Problem: problem})
}

// payload returns a copy of v that shares nothing with it that can change.
func (p *plain) payload(v any) map[string]any {
	out := p.value(contracts.FieldPayload, v, 1)
	m, ok := out.(map[string]any)
	switch {
	case ok && m != nil:
		return m
	case len(p.faults) > 0:
	case out == nil:
		p.fault(contracts.FieldPayload, "is missing")
	default:
		p.fault(contracts.FieldPayload, fmt.Sprintf("is a %T, want a map or what JSON makes an object of", v))
	}
	return nil
}

func (p *plain) value(at path, v any, depth int) any {
	if depth > 2*maxDepth { // which a map may be that holds itself; limits.go names it
		p.fault(at, fmt.Sprintf("lies deeper than %d levels", maxDepth))
		return nil
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v
	case int:
		return int64(v)
	case time.Time:
		return v.UTC().Truncate(precision)
	case map[string]any:
		return p.object(at, v, depth)
	case []any:
		return p.list(at, reflect.ValueOf(v), depth)
	case *firestore.DocumentRef:
		p.fault(at, "is a reference, which JSON cannot carry")
		return nil
	case json.Marshaler, encoding.TextMarshaler:
		return p.byJSON(at, v)
	}
	return p.reflected(at, reflect.ValueOf(v), depth)
}

func (p *plain) object(at path, m map[string]any, depth int) any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for name, item := range m {
		out[name] = p.value(at.key(name), item, depth+1)
	}
	return out
}

func (p *plain) list(at path, v reflect.Value, depth int) any {
	out := make([]any, v.Len())
	for i := range out {
		out[i] = p.value(at.index(i), v.Index(i).Interface(), depth+1)
	}
	return out
}

// reflected is for named and for less common types.
func (p *plain) reflected(at path, v reflect.Value, depth int) any {
	t := v.Type()
	if strings.HasPrefix(t.PkgPath(), "cloud.google.com/go/firestore") {
		p.fault(at, "is a "+t.String()+": a payload holds values alone, nothing that Firestore would compute")
		return nil
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			p.fault(at, "does not fit into 64 bits with a sign")
			return nil
		}
		return int64(v.Uint())
	case reflect.Float32, reflect.Float64:
		return v.Float()
	case reflect.String:
		return v.String()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return slices.Clone(v.Bytes())
		}
		if v.IsNil() {
			return nil
		}
		return p.list(at, v, depth)
	case reflect.Array:
		return p.list(at, v, depth)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			break
		}
		if v.IsNil() {
			return nil
		}
		out := make(map[string]any, v.Len())
		for i := v.MapRange(); i.Next(); {
			name := i.Key().String()
			out[name] = p.value(at.key(name), i.Value().Interface(), depth+1)
		}
		return out
	default: // structs, pointers and what has no form of its own
	}
	return p.byJSON(at, v.Interface())
}

// byJSON goes by what encoding/json makes of v. Its errors are not repeated, as they
// may hold a value.
func (p *plain) byJSON(at path, v any) any {
	const field = contracts.FieldPayload
	data, err := json.Marshal(map[string]any{field: v})
	if err != nil {
		p.fault(at, fmt.Sprintf("cannot be written as JSON, being a %T", v))
		return nil
	}
	fields, err := contracts.Fields(data)
	if err != nil {
		p.fault(at, "holds a number that does not fit into 64 bits")
		return nil
	}
	return fields[field]
}
