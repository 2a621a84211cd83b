package relay

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The listeners stay closed while a backlog is worked off, and no longer: one that
// stands still waits for something else.
func TestBacklogThatStandsStillKeepsNoListenerClosed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := newBacklog(func() time.Time { return now })
	shrinks := func(clog int) bool {
		yes, _ := b.shrinks(clog)
		return yes
	}
	if shrinks(100) {
		t.Error("records that are under way are a backlog, before any lane had one")
	}
	b.begins()
	b.begins()
	for clog := 100; clog > 90; clog-- {
		if now = now.Add(stands - time.Second); !shrinks(clog) {
			t.Fatalf("at %d records it is none any more, although they become fewer", clog)
		}
	}
	if now = now.Add(stands); shrinks(91) {
		t.Errorf("it is still one after %v in which nothing moved", stands)
	}
	if !shrinks(90) {
		t.Error("it is none any more, although it moves again")
	}
	b.ends()
	yes, over := b.shrinks(89)
	if !yes {
		t.Error("it is over before its last lane has settled it")
	}
	b.ends()
	select {
	case <-over:
	default:
		t.Error("those that wait are not told that it is over")
	}
	if shrinks(88) {
		t.Error("it is never over")
	}
}

// A Firestore that takes long for a page is asked less often.
func TestPollsGiveWayToABusyFirestore(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0:                      time.Second,
		100 * time.Millisecond: time.Second,
		250 * time.Millisecond: 2 * time.Second,
		time.Minute:            5 * time.Second,
	} {
		if got := pollAgain(took); got != want {
			t.Errorf("after a page that took %v the next comes after %v, want %v", took, got, want)
		}
	}
}

// timedPages is a Store without records that tells when its pages were asked for.
type timedPages struct {
	Store
	took  time.Duration
	asked chan time.Time
}

func (s *timedPages) Page(context.Context, Scan) ([]Doc, error) {
	s.asked <- time.Now()
	time.Sleep(s.took)
	return nil, nil
}

// paces are the pauses between the pages that f asks for beside a backlog of its outbox.
func paces(t *testing.T, last, took time.Duration, f func(ctx context.Context, r *reader)) (pauses []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &timedPages{took: took, asked: make(chan time.Time, 100)}
		r := testReader(t)
		r.outbox.store, r.outbox.tuning.PageSize, r.took = store, 10, last
		r.outbox.backlog.begins()
		r.outbox.backlog.moved = time.Now().Add(time.Hour) // it does not stand still
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ended := time.Now()
		f(ctx, r)
		for len(store.asked) > 0 {
			at := <-store.asked
			pauses = append(pauses, at.Sub(ended))
			ended = at.Add(took)
		}
	})
	return pauses
}

// Beside a backlog, a lane that has come to its end waits for its next page according to
// how long the last took, its backlog's own last page too; strays wait for longer.
func TestPagesBesideABacklogGiveWayToIt(t *testing.T) {
	t.Parallel()
	lane := func(ctx context.Context, r *reader) { _, _ = r.poll(ctx) }
	strays := func(ctx context.Context, r *reader) {
		r.outbox.pollStrays(ctx, r.outbox.strayScans()[0], false, r.log)
	}
	for name, tc := range map[string]struct {
		last, took time.Duration
		f          func(context.Context, *reader)
		pauses     []time.Duration
	}{
		"lane":         {last: 500 * time.Millisecond, took: 100 * time.Millisecond, f: lane, pauses: []time.Duration{4 * time.Second, time.Second, time.Second}},
		"a busy store": {last: time.Minute, took: time.Second, f: lane, pauses: []time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second}},
		"strays":       {took: 100 * time.Millisecond, f: strays, pauses: []time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second}},
	} {
		got := paces(t, tc.last, tc.took, tc.f)
		if len(got) < len(tc.pauses) || !slices.Equal(got[:len(tc.pauses)], tc.pauses) {
			t.Errorf("%s: pages after pauses of %v, want %v and so on", name, got, tc.pauses)
		}
	}
}
