package freezer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/sibling"
)

type unused = Releases // what a release without held records does not ask for

// slowly has releases that take a second each, and counts how many of them are read.
type slowly struct {
	unused
	mu   sync.Mutex
	open map[string]bool
	read int
}

func (*slowly) Outboxes(context.Context) ([]string, error) { return nil, nil }

func (s *slowly) Releases(_ context.Context, after string) (page []*dlq.Freeze, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.open)) {
		switch {
		case id <= after:
		case len(page) == 100:
			return page, page[99].AggregateID, nil
		default:
			page = append(page, &dlq.Freeze{AggregateID: id})
			s.read++
		}
	}
	return page, "", nil
}

func (s *slowly) EndRelease(_ context.Context, freeze *dlq.Freeze) (records int64, done bool, err error) {
	<-time.After(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, freeze.AggregateID)
	return 0, true, nil
}

// What waits for a place is not read again for each that becomes free; and what is
// released meanwhile is found, wherever it stands.
func TestManyReleasesAreReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 1000
		q := &slowly{open: make(map[string]bool)}
		for n := range many {
			q.open[fmt.Sprintf("acc-%04d", n)] = true
		}
		cfg := Config{Config: sibling.Config{Log: zap.NewNop(), Leads: func() bool { return true }, Poll: 24 * time.Hour}}.withDefaults()
		wake := make(chan struct{}, 1)
		r := &releaser{queue: q, cfg: cfg, wake: wake, all: newUnderWay(cfg, func() { sibling.Knock(wake) })}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.run(ctx) }()
		<-time.After(many / releasesAtOnce / 2 * time.Second)
		q.mu.Lock()
		q.open["aaa"] = true
		q.mu.Unlock()
		sibling.Knock(wake)
		<-time.After(many * time.Second)
		synctest.Wait()
		if len(q.open) > 0 {
			t.Errorf("%d are not released, want none", len(q.open))
		}
		if q.read > 2*many {
			t.Errorf("%d releases are read for %d, want each once and a few at the end", q.read, many)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
