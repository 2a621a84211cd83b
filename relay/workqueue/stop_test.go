package workqueue

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
)

// A handler that heeds nothing does not hold a stop: its document is left to its lease.
func TestAHandlerThatHangsDoesNotHoldAStop(t *testing.T) {
	r := onEmbedded(t)
	r.put("errands/a:1", nil)
	hangs, free, freed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	q := r.run(vocabulary(false), func(context.Context, *Claim) (Outcome, error) {
		close(hangs)
		<-free
		close(freed)
		return done, nil
	}, func(c *Config) { c.Tuning.StopBudget = time.Millisecond; c.Log = zap.NewNop() })
	<-hangs
	stopped := make(chan struct{})
	go func() { q.stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Error("the queue waits for its handler")
	}
	close(free)
	<-freed
	r.await("the end of the worker", func() bool { return q.Health().Busy == 0 })
	<-stopped
	if got := r.get("errands/a:1"); got["status"] != "processing" {
		t.Errorf("document is %v, want it left to its lease", got)
	}
}
