package replayer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
	"outboxrelay/dlq/replayer"
	"outboxrelay/dlq/sibling"
)

func TestReplayerDeliversWhatIsDue(t *testing.T) {
	f := setup(t)
	early, late := f.Letter("wsOutbox", "TaskDone", "ws-1", 1), f.Letter("wsOutbox", "TaskDone", "ws-2", 1)
	late.NextReplayAt = late.NextReplayAt.Add(time.Hour)
	f.Bury(early, late)
	f.Replayer()
	got := f.Reaches(early.ID, contracts.DeadReplayed)
	if got.Replays != 1 || !got.LastReplay.Delivered || got.LastReplay.Request != "" {
		t.Errorf("ended as %+v after %d replays, want delivered by schedule after one", got.LastReplay, got.Replays)
	}
	if n := f.Lanes.Count(late.ID); n != 0 {
		t.Errorf("%d replays of what is not due, want none", n)
	}
	f.Eventually("it is counted", func() bool { return f.Counter("relay_dlq_replay_rounds_total", "delivered", "SAFE_AUTO") == 1 })
}

func TestReplayerGivesUpAfterTheLastDelay(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) { return dlqtest.Fails(i), nil })
	i := f.Die("wsOutbox", "TaskDone", "ws-1", 1)
	f.Replayer()
	got := f.Reaches(i.ID, contracts.DeadAwaitingReview)
	if got.Tier != contracts.ReviewRequired || got.OriginalTier != contracts.SafeAuto {
		t.Errorf("tier %s (was %s), want REVIEW_REQUIRED (SAFE_AUTO)", got.Tier, got.OriginalTier)
	}
	if got.Replays != 5 || f.Lanes.Count(i.ID) != 5 || !got.NextReplayAt.IsZero() {
		t.Errorf("%d replays noted, %d made, next at %v; want 5, 5, none", got.Replays, f.Lanes.Count(i.ID), got.NextReplayAt)
	}
	if want := 1 + 5*len(i.PendingTargets); len(got.Errors) != want {
		t.Errorf("%d errors in its history, want %d", len(got.Errors), want)
	}
	last := got.Decisions[len(got.Decisions)-1]
	if last.Action != dlq.Exhausted || last.By != "relay" {
		t.Errorf("last decision %+v, want exhausted by relay", last)
	}
}

func TestOutageOfATargetCountsNothing(t *testing.T) {
	f := setup(t)
	var well atomic.Bool
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		if well.Load() {
			return dlq.Round{Acked: i.PendingTargets}, nil
		}
		return dlq.Round{Blocked: i.PendingTargets}, nil
	})
	f.Config.PauseMax = time.Hour // but for the bell it would wait
	f.Config.PauseMin = 20 * time.Millisecond
	i := f.Die("wsOutbox", "TaskDone", "ws-1", 1)
	f.Replayer()
	f.Eventually("some rounds are blocked", func() bool { return f.Lanes.Count(i.ID) >= 4 })
	if got := f.Item(i.ID); got.Replays != 0 || len(got.Errors) != 1 || got.State != contracts.DeadScheduled {
		t.Errorf("%d replays, %d errors, %s; want 0, 1, scheduled", got.Replays, len(got.Errors), got.State)
	}
	well.Store(true)
	f.Queue.Ring(dlq.BellReplays)
	if got := f.Reaches(i.ID, contracts.DeadReplayed); got.Replays != 1 {
		t.Errorf("%d replays, want 1", got.Replays)
	}
}

func TestBlockedRoundKeepsWhatItReached(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, round int) (dlq.Round, error) {
		if round == 1 {
			return dlq.Round{Acked: i.PendingTargets[:1], Blocked: i.PendingTargets[1:]}, nil
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	i := f.Die("tagOutbox", "TagLifecycleEvent", "tag-1", 1)
	f.Replayer()
	got := f.Reaches(i.ID, contracts.DeadReplayed)
	want := [][]string{{"FUNNEL", "VS4_TAG_SUBSCRIBER"}, {"VS4_TAG_SUBSCRIBER"}}
	if diff := cmp.Diff(want, f.Lanes.Targets); diff != "" {
		t.Errorf("targets of the rounds (-want +got):\n%s", diff)
	}
	if got.Replays != 1 {
		t.Errorf("%d replays, want 1", got.Replays)
	}
}

func TestReplayerWorksThroughOutagesOfFirestore(t *testing.T) {
	f := setup(t)
	i := f.Letter("wsOutbox", "TaskDone", "ws-1", 1)
	f.Bury(i)
	var broken atomic.Int64
	remove := f.Server.Faults().Add(localfirestore.Fault{Method: "RunQuery", Code: codes.Internal, Match: func(localfirestore.Call) bool { broken.Add(1); return true }})
	f.Replayer()
	f.Eventually("some looks fail", func() bool { return broken.Load() >= 3 })
	remove()
	f.Reaches(i.ID, contracts.DeadReplayed)
	if got := f.Counter("relay_dlq_failures_total", "SAFE_AUTO"); got < 1 {
		t.Errorf("counted %v failures, want some", got)
	}
}

func TestEndIsNotedThroughAnOutage(t *testing.T) {
	f := setup(t)
	var broken atomic.Int64
	var remove func()
	delivered := make(chan struct{})
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, _ int) (dlq.Round, error) {
		remove = f.Server.Faults().Add(localfirestore.Fault{Method: "Commit", Code: codes.PermissionDenied, Match: func(localfirestore.Call) bool { broken.Add(1); return true }})
		close(delivered) // a second round would panic
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	i := f.Die("wsOutbox", "TaskDone", "ws-1", 1)
	f.Replayer()
	<-delivered
	f.Eventually("some commits fail", func() bool { return broken.Load() >= 10 })
	remove()
	f.Reaches(i.ID, contracts.DeadReplayed)
	if n := f.Lanes.Count(i.ID); n != 1 {
		t.Errorf("%d rounds, want 1", n)
	}
}

func TestPersonHastensAReplay(t *testing.T) {
	f := setup(t)
	i := f.Letter("wsOutbox", "TaskDone", "ws-1", 1)
	i.NextReplayAt = i.NextReplayAt.Add(time.Hour)
	f.Bury(i)
	f.Replayer()
	f.Decide(i.ID, dlq.Replay, dlqtest.Operator)
	if got := f.Reaches(i.ID, contracts.DeadReplayed); got.LastReplay.By != dlqtest.Operator.Name {
		t.Errorf("asked by %q, want %q", got.LastReplay.By, dlqtest.Operator.Name)
	}
}

func TestRequestOnAnotherInstanceWakes(t *testing.T) {
	f := setup(t)
	f.Config.Poll = time.Hour
	i := f.Letter("wsOutbox", "TaskDone", "ws-1", 1)
	i.NextReplayAt = i.NextReplayAt.Add(time.Hour)
	f.Bury(i)
	first := f.Letter("wsOutbox", "TaskDone", "ws-2", 1)
	f.Bury(first)
	f.Replayer()
	f.Reaches(first.ID, contracts.DeadReplayed)
	f.Quiet()
	other := f.NewQueue(f.Store)
	if _, err := other.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Replay, Actor: dlqtest.Operator, Reason: "because"}); err != nil {
		t.Fatal(err)
	}
	f.Reaches(i.ID, contracts.DeadReplayed)
}

func TestLookWithoutBeingTold(t *testing.T) {
	f := setup(t)
	remove := f.Server.Faults().Add(localfirestore.Fault{Method: "Listen", Code: codes.PermissionDenied})
	t.Cleanup(remove)
	first := f.Die("wsOutbox", "TaskDone", "ws-0", 1)
	f.Replayer()
	f.Reaches(first.ID, contracts.DeadReplayed)
	f.looks(20) // more than what became of the first asks for: only the time brings those that follow
	i := f.Letter("wsOutbox", "TaskDone", "ws-1", 1)
	if _, err := f.Store.Commit(t.Context(), i.Burial(false)); err != nil { // and no bell
		t.Fatal(err)
	}
	f.Reaches(i.ID, contracts.DeadReplayed)
}

// looks waits until the replayer has looked so many times more.
func (f *fixture) looks(times int64) {
	f.T.Helper()
	var looks atomic.Int64
	remove := f.Server.Faults().Add(localfirestore.Fault{
		Method: "RunQuery", Collection: contracts.CollectionDeadLetters, Match: func(localfirestore.Call) bool { looks.Add(1); return false },
	})
	defer remove()
	f.Eventually("it looks again and again", func() bool { return looks.Load() >= times })
}

func TestPanicStopsTheSibling(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(context.Context, *dlq.Item, int) (dlq.Round, error) { panic("a fault of the program") })
	f.Die("wsOutbox", "TaskDone", "ws-1", 1)
	r, err := dlqtest.Replayer(f.Queue, f.Lanes, f.Config)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "replayer") || !strings.Contains(err.Error(), "panic: string") {
		t.Errorf("got %v, want an error that names the replayer and the panic", err)
	}
}

func TestUnknownRoundIsTriedAgain(t *testing.T) {
	f := setup(t)
	f.Lanes.Follow(func(_ context.Context, i *dlq.Item, round int) (dlq.Round, error) {
		if round == 1 {
			return dlq.Round{}, errors.New("the lane drains")
		}
		return dlq.Round{Acked: i.PendingTargets}, nil
	})
	i := f.Die("wsOutbox", "TaskDone", "ws-1", 1)
	f.Replayer()
	if got := f.Reaches(i.ID, contracts.DeadReplayed); got.Replays != 1 {
		t.Errorf("%d replays, want 1", got.Replays)
	}
}

// overtaken is a Store in which something else happens before a dead letter is read,
// once.
type overtaken struct {
	dlq.Store
	id    string
	first func()
	once  sync.Once
}

func (o *overtaken) Get(ctx context.Context, collection string, ids ...string) ([]dlq.Doc, error) {
	if collection == contracts.CollectionDeadLetters && slices.Contains(ids, o.id) {
		o.once.Do(o.first)
	}
	return o.Store.Get(ctx, collection, ids...)
}

// TestReplayThatFailedMeanwhileWaitsItsDelay: what was due when it was listed, and
// failed elsewhere since, is not tried again before its next time.
func TestReplayThatFailedMeanwhileWaitsItsDelay(t *testing.T) {
	f := setup(t)
	f.Catalog.Replay.Delays = slices.Repeat([]time.Duration{time.Hour}, 5)
	i := f.Die("wsOutbox", "TaskDone", "ws-1", 1)
	elsewhere := f.NewQueue(f.Store)
	f.Queue = f.NewQueue(&overtaken{Store: f.Store, id: i.ID, first: func() {
		if _, err := elsewhere.End(t.Context(), i, dlq.Result{Errors: dlqtest.Fails(i).Failed}); err != nil {
			t.Error(err)
		}
	}})
	f.Replayer()
	f.Eventually("its turn came", func() bool {
		return f.Lanes.Count(i.ID) > 0 || f.Counter("relay_dlq_replay_rounds_total", "dropped", "SAFE_AUTO") > 0
	})
	if n, got := f.Lanes.Count(i.ID), f.Item(i.ID); n != 0 || got.Replays != 1 {
		t.Errorf("%d rounds here before its next time, %d replays noted; want 0, and the 1 that failed elsewhere", n, got.Replays)
	}
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	c := replayer.Config{Config: sibling.Config{Poll: -1}, Concurrency: -1, PauseMin: -1}
	err := c.Validate()
	for _, want := range []string{"concurrency", "poll", "shortest pause"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
}

// deafStore is a store whose listeners tell their first result and nothing
// more. Later ones are sound, and begin once hear is closed.
type deafStore struct {
	dlq.Store
	hear  chan struct{}
	mu    sync.Mutex
	begun map[string]bool // by query
}

func (s *deafStore) Watch(ctx context.Context, q dlq.Query, told func([]dlq.Doc)) error {
	s.mu.Lock()
	sound := s.begun[fmt.Sprint(q)]
	s.begun[fmt.Sprint(q)] = true
	s.mu.Unlock()
	if sound {
		select {
		case <-s.hear:
			return s.Store.Watch(ctx, q, told)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var once sync.Once
	return s.Store.Watch(ctx, q, func(docs []dlq.Doc) { once.Do(func() { told(docs) }) })
}

func TestDeafListenerIsReplaced(t *testing.T) {
	f := setup(t)
	f.Config.Poll, f.Config.Quiet = time.Hour, 100*time.Millisecond
	deaf := &deafStore{Store: f.Store, hear: make(chan struct{}), begun: map[string]bool{}}
	f.Queue = f.NewQueue(deaf)
	f.Replayer()
	f.Quiet()
	i := f.Letter("wsOutbox", "TaskDone", "ws-1", 1)
	if _, err := f.Store.Commit(t.Context(), i.Burial(false)); err != nil { // and no bell
		t.Fatal(err)
	}
	close(deaf.hear)
	f.Reaches(i.ID, contracts.DeadReplayed)
}
