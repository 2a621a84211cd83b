package relay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

func TestASiblingThatFailsStopsTheRelay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(ctx context.Context, fail <-chan struct{}) error
		want string
	}{
		{"returns an error", func(_ context.Context, fail <-chan struct{}) error { <-fail; return errors.New("broken") }, "run freezer: broken"},
		{"returns nothing", func(_ context.Context, fail <-chan struct{}) error { <-fail; return nil }, "run freezer: returned before it was told to stop"},
		{"panics", func(_ context.Context, fail <-chan struct{}) error { <-fail; panic("broken") }, "run freezer: panic: string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := setup(t, newCloud(t))
			fail, other := make(chan struct{}), make(chan struct{})
			f.siblings = []relay.Sibling{
				{Name: "freezer", Run: func(ctx context.Context) error { return test.run(ctx, fail) }},
				{Name: "replayer", Run: func(ctx context.Context) error { defer close(other); <-ctx.Done(); return ctx.Err() }},
			}
			f.wantEnd = test.want
			r := f.run()
			records := f.records("wsOutbox", 10, 2)
			f.append(records, 10)
			f.delivered(records)
			close(fail)
			f.eventually("the relay stops", func() bool { return r.relay.Health().Stopping })
			<-other
			r.stop()
		})
	}
}

// Siblings end before the lanes are drained: what they have in delivery comes
// to its end and they hear of it.
func TestSiblingsEndFirst(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	_, bury := f.deadSchedule(1)
	type answer struct {
		acked int
		err   error
	}
	replay, answers := make(chan func(context.Context) answer), make(chan answer, 1)
	f.siblings = []relay.Sibling{{Name: "review", Run: func(ctx context.Context) error {
		do := <-replay
		answers <- do(ctx)
		<-ctx.Done()
		return nil
	}}}
	r := f.run()
	item := bury()
	in, out := make(chan struct{}, 1), make(chan struct{})
	f.delay(in, out)
	replay <- func(ctx context.Context) answer {
		round, err := r.relay.Replay(ctx, item)
		return answer{len(round.Acked), err}
	}
	<-in
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.stop() }()
	f.eventually("the relay stops", func() bool { return r.relay.Health().Stopping })
	close(out)
	<-stopped
	if got, want := <-answers, (answer{acked: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A sibling that does not end in time holds up nothing but the end.
func TestStopEndsWithASlowSibling(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.CanaryInterval = time.Hour // see untouched
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	f.siblings = []relay.Sibling{{Name: "slow", Run: func(ctx context.Context) error { <-ctx.Done(); <-release; return nil }}}
	r := f.run()
	t.Cleanup(free) // before the relay's own, which waits for the sibling
	r.untouched()
	records := f.records("wsOutbox", 20, 2)
	f.append(records, 10)
	f.delivered(records)
	stopped := make(chan struct{})
	go func() { defer close(stopped); r.stop() }()
	f.eventually("its canaries are removed", func() bool { return len(f.canaries()) == 0 })
	free()
	<-stopped
	if n := f.unmarked(records, contracts.Delivered); n > 0 {
		t.Errorf("%d records are not marked", n)
	}
}
