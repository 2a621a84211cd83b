package ier

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A subscriber that panics takes down what it was called from, as far as that is not
// guarded, and nothing else: the next change is told.
func TestChangesAreToldAfterASubscriberPanicked(t *testing.T) {
	c, faulty := &changes{}, true
	var told []string
	c.subscribe(func(target string, _ bool) {
		if faulty {
			panic("a fault of the subscriber")
		}
		told = append(told, target)
	})
	flush := func(target string) (panicked any) {
		defer func() { panicked = recover() }()
		c.add(target, true)
		c.flush()
		return nil
	}
	if flush("A") == nil {
		t.Error("the subscriber's panic is swallowed")
	}
	faulty = false
	if p := flush("B"); p != nil {
		t.Errorf("panic: %v", p)
	}
	if diff := cmp.Diff([]string{"B"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
