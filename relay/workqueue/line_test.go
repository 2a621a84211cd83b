package workqueue

import (
	"fmt"
	"slices"
	"strings"
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
	l.round(true)
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

// What is left behind is looked at from the first name on that nobody here knows.
func TestWhatIsLeftBehind(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLine(3, time.Minute)
	for _, s := range []span{{"a", "x/a5", ""}, {"a", "y/a5", ""}, {"a", "z/a5", ""}} {
		l.leave(s.first[:2]+"a~", s)
	}
	l.leave("x/a~", span{"a", "x/a7", ""})
	l.leave("y/a~", span{"a", "y/a~~", "y/a~~"}) // a name behind the last
	full := waiting("b", 0, now)
	full.state.path, full.last = "x/b3", "x/b~"
	for n := range 3 {
		l.add(waiting("b", n, now), now)
	}
	if l.add(full, now) || l.knows("x/b3") {
		t.Error("took more than a batch")
	}
	var got []span
	for range 3 { // of each tenant one at a time
		got = append(got, l.round(false)...)
	}
	drain(l, now)
	got = append(got, l.round(false)...)
	slices.SortFunc(got, func(a, b span) int { return strings.Compare(a.first, b.first) })
	want := []span{{"a", "x/a5", "x/a~"}, {"b", "x/b3", "x/b~"}, {"a", "y/a5", "y/a~~"}, {"a", "z/a5", "z/a~"}}
	if !slices.Equal(got, want) {
		t.Errorf("rounds look at %v, want %v", got, want)
	}
	if l.hungry() || len(l.tenants) != 0 {
		t.Errorf("after the rounds: %d tenants are remembered", len(l.tenants))
	}
}

// Of tenants with one document each no line is ever full: what comes faster than workers are
// done with it waits in Firestore, for a round, and not in memory.
func TestNewDocumentsOfManyTenantsDoNotFillTheMemory(t *testing.T) {
	l, now := newLine(2, time.Minute), time.Unix(1, 0)
	for n := range 2 * l.full {
		path := fmt.Sprintf("q/%d", n)
		l.hear(&item{state: state{path: path, pending: true}, tenant: path, last: path}, now)
	}
	if l.ready != l.full || len(l.waiting) != l.full || len(l.tenants) != l.full {
		t.Errorf("%d are ready, %d known, of %d tenants; want %d", l.ready, len(l.waiting), len(l.tenants), l.full)
	}
	path := "q/round"
	if !l.add(&item{state: state{path: path, pending: true}, tenant: path, last: path}, now) {
		t.Error("a round, which waits for room itself, was refused")
	}
}
