package main

import (
	"math/rand/v2"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
)

// The other catalog of a rollout can be read, and always lacks something.
func TestCatalogsOfARolloutLackOutboxes(t *testing.T) {
	whole, err := chaosCatalog()
	if err != nil {
		t.Fatal(err)
	}
	lacked := map[string]bool{}
	for seed := range uint64(50) {
		less := without(whole, rand.New(rand.NewPCG(seed, 0)))
		if n := len(less.Outboxes); n == 0 || n >= len(whole.Outboxes) {
			t.Fatalf("it has %d of %d outboxes", n, len(whole.Outboxes))
		}
		for _, o := range whole.Outboxes {
			if less.Outbox(o.Name) == nil {
				lacked[o.Name] = true
			}
		}
		path, err := rig.WriteCatalog(less, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := contracts.LoadCatalog(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(lacked) != len(whole.Outboxes) {
		t.Errorf("only %v are lacked now and then", lacked)
	}
}
