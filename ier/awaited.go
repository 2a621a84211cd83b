package ier

import (
	"slices"
	"sync"
)

// awaited is the targets that a run waits for still.
type awaited struct {
	tell func(targets []string) // nil: nobody is told

	mu      sync.Mutex
	targets []string
}

func newAwaited(legs []*leg, tell func([]string)) *awaited {
	a := &awaited{tell: tell}
	if tell == nil || len(legs) == 0 {
		return a
	}
	for _, l := range legs {
		a.targets = append(a.targets, l.target)
	}
	tell(a.targets)
	return a
}

// answered notes that a target has answered. Of the last one the end of the run tells.
func (a *awaited) answered(target string) {
	if a.tell == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.targets = slices.DeleteFunc(a.targets, func(t string) bool { return t == target })
	if len(a.targets) > 0 {
		a.tell(a.targets)
	}
}
