package relay_test

import (
	"testing"
	"time"
)

// An outbox is given to another instance once it is written what became of the
// replays that are under way: the next owner would replay them again.
func TestAnOutboxStaysUntilItsReplaysAreWritten(t *testing.T) { staysPinned(t, newCloud(t)) }

func TestAnOutboxStaysUntilItsReplaysAreWrittenOnGoogle(t *testing.T) {
	staysPinned(t, onGoogle(t))
}

func staysPinned(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.withQueue(nil)
	f.tuning.StopBudget = time.Hour
	_, bury := f.deadSchedule(1)
	a := f.member("a", 10*time.Second, nil)
	f.spread(map[string]int{"a": 6})
	item := bury()
	release, ok := a.relay.Pin(item)
	if !ok {
		t.Fatal("its owner may not pin it")
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); a.stop() }()
	f.spread(map[string]int{"a": 1, "": 5})
	if _, ok := a.relay.Pin(item); ok {
		t.Error("another replay begins while the outbox is given back")
	}
	b := f.member("b", 10*time.Second, nil)
	f.spread(map[string]int{"a": 1, "b": 5})
	records := f.records("wsOutbox", 20, 4)
	f.append(records, 5)
	f.delivered(records)
	if got := f.leases()[item.Outbox].Owner; got != "a" {
		t.Errorf("%s belongs to %q while a replay of it is under way, want a", item.Outbox, got)
	}
	if _, ok := b.relay.Pin(item); ok {
		t.Error("a replay begins at another instance while one is under way")
	}
	release()
	<-stopped
	f.spread(map[string]int{"b": 6})
}
