package claims

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestAnotherEventOfTheSameVersion: it changes nothing, as it cannot be told which of the two is newer, and that
// is told. A repeat is no such event.
func TestAnotherEventOfTheSameVersion(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	w := newWorld()
	w.users["acc-1"] = map[string]any{}
	m := &memory{w, nil}
	h, err := New(Config{Catalog: catalog(true), Store: m, Accounts: m, Signals: m, Timeout: time.Hour, Log: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{`{"roles":["admin"]}`, `{"roles":["admin"]}`, `{"roles":[]}`} {
		rec, envelope := record(4, payload)
		if err := h.Handle(t.Context(), rec, envelope); err != nil {
			t.Fatal(err)
		}
		if n, want := logs.Len(), map[bool]int{true: 1}[payload == `{"roles":[]}`]; n != want {
			t.Errorf("%d warnings with %s, want %d", n, payload, want)
		}
	}
	if fields := logs.All()[0].ContextMap(); fields["aggregateVersion"] != int64(4) || fields["traceId"] == "" {
		t.Errorf("the warning has %v", fields)
	}
}
