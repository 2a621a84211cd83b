package pubsub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
)

// Requests that each want much of the one and little of the other, or more than
// there is, all get through, and never have more than there is.
func TestRoomIsNeverExceededAndNeverStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages, bytes = 10, 1000
		r := newRoom(messages, bytes, 24*time.Hour)
		var mu sync.Mutex
		var m, b int
		var wg sync.WaitGroup
		for i := range 500 {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			n, size := 1+random.IntN(messages), random.IntN(bytes)
			switch i % 3 {
			case 0:
				n, size = messages, 1
			case 1:
				n, size = 1, 2*bytes
			}
			count := func(sign int) {
				mu.Lock()
				defer mu.Unlock()
				m, b = m+sign*n, b+sign*min(size, bytes)
				if m > messages || b > bytes {
					t.Errorf("%d messages and %d bytes are on their way", m, b)
				}
			}
			wg.Go(func() {
				if err := r.take(t.Context(), n, size); err != nil {
					t.Error(err)
					return
				}
				count(1)
				time.Sleep(time.Second)
				count(-1)
				r.leave(n, size)
			})
		}
		wg.Wait()
		if err := r.take(t.Context(), messages, bytes); err != nil {
			t.Errorf("not all the room came back: %v", err)
		}
	})
}

// Whoever waits gives up after the timeout, or with its context, and leaves
// nothing taken behind.
func TestRoomIsWaitedForNoLongerThanTheTimeout(t *testing.T) {
	for _, held := range []struct{ messages, bytes int }{{10, 0}, {1, 1000}} {
		t.Run(fmt.Sprintf("%+v", held), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(10, 1000, 4*time.Second)
				if err := r.take(t.Context(), held.messages, held.bytes); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if err := r.take(t.Context(), 5, 500); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 4*time.Second {
					t.Errorf("got %v after %v, want the deadline after 4s", err, time.Since(start))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := r.take(ctx, 5, 500); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
					t.Errorf("got %v after %v, want the caller's deadline after 5s", err, time.Since(start))
				}
				r.leave(held.messages, held.bytes)
				if err := r.take(ctx, 1, 1); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("with an ended context: %v", err)
				}
				if err := r.take(t.Context(), 10, 1000); err != nil {
					t.Errorf("not all the room came back: %v", err)
				}
			})
		})
	}
}

func TestRoomBoundsWhatIsUnderWay(t *testing.T) {
	for name, settings := range map[string]Settings{
		"messages": {MaxOutstanding: 3},
		"bytes":    {MaxOutstandingBytes: 3*sizeOf(parcels("1", 1, 1)[0].Message) + 100},
	} {
		t.Run(name, func(t *testing.T) { boundsWhatIsUnderWay(t, settings) })
	}
}

// boundsWhatIsUnderWay takes settings that leave room for three messages.
func boundsWhatIsUnderWay(t *testing.T, settings Settings) {
	c := setup(t)
	settings.Timeout = patience
	target := c.target(t, c.topic(t), settings)
	var (
		mu             sync.Mutex
		underWay, most int
		hang           = make(chan struct{})
		arrived        = make(chan struct{}, 100)
	)
	c.server.fail(func(context.Context, *pubsubpb.PublishRequest) error {
		mu.Lock()
		underWay++
		if underWay > most {
			most = underWay
		}
		mu.Unlock()
		arrived <- struct{}{}
		<-hang
		mu.Lock()
		underWay--
		mu.Unlock()
		return nil
	})
	var wg sync.WaitGroup
	for i := range 9 {
		wg.Go(func() {
			if errs := target.Deliver(t.Context(), parcels(fmt.Sprint(i), 1, 1)); errs[0] != nil {
				t.Errorf("deliver: %v", errs[0])
			}
		})
	}
	for range 3 {
		<-arrived
	}
	// No room is left: a caller whose context ends gives up, and its key with it.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := answers(target.Deliver(ctx, parcels("late", 1, 2)))
	if diff := cmp.Diff([]string{"outage DeadlineExceeded", "behind"}, got); diff != "" {
		t.Errorf("answers without room (-want +got):\n%s", diff)
	}
	close(hang)
	wg.Wait()
	if most != 3 {
		t.Errorf("%d messages were under way at once, want 3", most)
	}
	if errs := target.Deliver(t.Context(), parcels("late", 1, 2)); errs[0] != nil || errs[1] != nil {
		t.Errorf("the key did not recover: %v", errs)
	}
}
