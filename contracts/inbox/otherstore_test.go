package inbox_test

import (
	"context"
	"strings"
	"testing"

	"outboxrelay/contracts/inbox"
)

func TestTransactionsOfAnotherStoreAreRefused(t *testing.T) {
	own := pooled{inbox.NewMemory(), make(chan struct{}, 1)}
	handler := func(context.Context, struct{}, *inbox.Event) error { return nil }
	for name, test := range map[string]struct {
		store   inbox.Store
		refused bool
	}{
		"its own":                {own, false},
		"another of the kind":    {pooled{inbox.NewMemory(), make(chan struct{}, 1)}, true},
		"the one beneath it":     {own.Memory, true},
		"one that has a map":     {mapped{pooled: own}, true},
		"a pointer to its equal": {&pooled{own.Memory, own.connections}, true},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				said, refused := recover().(string)
				if refused != test.refused || refused && !strings.Contains(said, "billing within a transaction: its inbox has another store") {
					t.Errorf("it panics with %q, want a panic that tells of the other store: %v", said, test.refused)
				}
			}()
			inbox.HandleIn(inbox.New(test.store, "billing", inbox.Options{}), own, handler)
		})
	}
	odd := mapped{pooled: own} // cannot be compared, and is taken at its word
	inbox.HandleIn(inbox.New(odd, "billing", inbox.Options{}), odd, handler)
}

type mapped struct {
	pooled
	_ map[string]int
}
