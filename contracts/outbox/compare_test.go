package outbox_test

import (
	"math"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
)

// Numbers that are equal are so whatever their type and sign, as for producers in TypeScript.
func TestZeroIsOneNumber(t *testing.T) {
	minus := math.Copysign(0, -1)
	zeros := []any{int64(0), 0.0, minus}
	for _, a := range zeros {
		for _, b := range zeros {
			stored := map[string]any{"payload": map[string]any{"x": a, "in": []any{map[string]any{"y": a}}}, "eventVersion": int64(1)}
			record, _ := contracts.DecodeRecord("accOutbox", "id", map[string]any{"payload": map[string]any{"x": b, "in": []any{map[string]any{"y": b}}}, "eventVersion": int64(1)})
			for _, field := range outbox.Differs(stored, record) {
				if field == contracts.FieldPayload {
					t.Errorf("%v (%T) and %v (%T) are taken for two events", a, a, b, b)
				}
			}
		}
	}
	one, _ := contracts.DecodeRecord("accOutbox", "id", map[string]any{"payload": map[string]any{"x": 1.0}})
	if outbox.Differs(map[string]any{"payload": map[string]any{"x": minus}}, one)[0] != contracts.FieldPayload {
		t.Error("-0 and 1 are taken for one event")
	}
}
