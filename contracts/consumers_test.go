package contracts

import "testing"

func TestConcerns(t *testing.T) {
	cat, _ := movingCatalog(t)
	for _, c := range []struct {
		name, consumer, outbox, eventType string
		version                           int64
		want                              bool
	}{
		{"its version", "mail", "box", "E", 2, true},
		{"another's version", "mail", "box", "E", 1, false},
		{"another's version, one of several", "audit", "box", "E", 2, false},
		{"an event that names nobody", "mail", "box", "X.y", 3, true},
		{"a version that is not declared", "mail", "box", "E", 3, true},
		{"an outbox that is not declared", "mail", "elsewhere", "E", 1, true},
		{"a consumer that is named nowhere", "stranger", "box", "E", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := &Record{Outbox: c.outbox, EventType: c.eventType, EventVersion: c.version}
			if got := cat.Concerns(c.consumer, rec); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Of an undeclared version of the only one there is, all faults are told at once.
func TestCheckOfAnUndeclaredVersionOfOne(t *testing.T) {
	fields := changed(soundFields(t), map[string]any{"eventVersion": int64(2), "payload": map[string]any{"accountId": int64(7)}})
	rec, faults := DecodeRecord("accOutbox", "doc", fields)
	want := "eventVersion is 2, want 1 as the catalog declares; payload.accountId is a number, want a string"
	if got := defaultCatalog(t).Check(rec, faults).Faults.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
