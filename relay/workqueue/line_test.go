package workqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func waiting(tenant string, n int, at time.Time) *item {
	return &item{tenant: tenant, at: at, state: state{path: fmt.Sprintf("%s/%d", tenant, n), pending: true, updated: time.Unix(int64(n), 0)}}
}

func drain(l *line, now time.Time) (paths []string) {
	for {
		it, _ := l.next(now)
		if it == nil {
			return paths
		}
		paths = append(paths, it.state.path)
		l.end(it.state.path, nil, now)
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLine(3, time.Minute)
	for n := range 5 {
		l.add(waiting("a", n, now), now)
	}
	l.add(waiting("b", 1, now), now)
	l.add(waiting("c", 1, now), now)
	l.add(waiting("c", 1, now), now) // known
	if diff := cmp.Diff([]string{"a/0", "b/1", "c/1", "a/1", "a/2"}, drain(l, now)); diff != "" {
		t.Error(diff)
	}
	if !l.hungry() {
		t.Error("a has more, and nothing asks for it")
	}
	l.round(nil)
	if l.hungry() || len(l.tenants) != 0 {
		t.Errorf("after a round: %d tenants are remembered", len(l.tenants))
	}
}

func TestLaterIsGivenOutWhenItIsDue(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLine(3, time.Minute)
	l.add(waiting("a", 2, now.Add(2*time.Second)), now)
	l.add(waiting("a", 1, now.Add(time.Second)), now)
	if l.add(waiting("a", 3, now.Add(time.Hour)), now) {
		t.Error("took what a later round brings")
	}
	if it, wait := l.next(now); it != nil || wait != time.Second {
		t.Errorf("next = %v after %v, want nothing for a second", it, wait)
	}
	if diff := cmp.Diff([]string{"a/1"}, drain(l, now.Add(time.Second))); diff != "" {
		t.Error(diff)
	}
	l.gone("a/2")
	if it, wait := l.next(now.Add(time.Hour)); it != nil || wait != 0 || len(l.waiting) != 0 {
		t.Errorf("next = %v, %v of what is gone", it, wait)
	}
}

func TestWhatIsHeardOfABusyOne(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLine(3, time.Minute)
	l.add(waiting("a", 1, now), now)
	it, _ := l.next(now)
	l.gone("a/1")
	if !l.isGone("a/1") || !l.knows("a/1") {
		t.Error("what was heard of a busy one is forgotten")
	}
	newer := waiting("a", 1, now)
	newer.state.updated = now
	if l.add(newer, now) {
		t.Error("a busy one was given out twice")
	}
	l.end(it.state.path, nil, now)
	if got, _ := l.next(now); got != newer {
		t.Errorf("next = %v, want what was heard last", got)
	}
}
