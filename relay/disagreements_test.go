package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/contracts"
)

// While a lane moves, every record disagrees with the catalog: each can be
// found at debug, and the log is not flooded with warnings.
func TestDisagreementsDoNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		catalog, err := contracts.DefaultCatalog()
		if err != nil {
			t.Fatal(err)
		}
		core, logs := observer.New(zap.DebugLevel)
		o := &outbox{
			spec: catalog.Outbox("orgOutbox"), metrics: newMetrics(nil, catalog), log: zap.New(core),
			disagreements: newDisagreements(),
		}
		tell := func(n int) {
			for range n {
				o.disagree(&contracts.Record{ID: "r", TraceID: "t"}, []string{contracts.DisagreementLane})
			}
		}
		warned := func() int { return logs.FilterLevelExact(zapcore.WarnLevel).Len() }

		tell(100)
		if got := warned(); got != disagreementsFirst {
			t.Errorf("got %d warnings of 100 disagreements, want %d", got, disagreementsFirst)
		}
		o.disagree(&contracts.Record{ID: "r", TraceID: "t"}, []string{contracts.DisagreementTier})
		if got := warned(); got != disagreementsFirst+1 {
			t.Errorf("got %d warnings after one of another field, want %d", got, disagreementsFirst+1)
		}
		time.Sleep(disagreementsPause)
		tell(100)
		if got := warned(); got != disagreementsFirst+2 {
			t.Errorf("got %d warnings after the pause, want %d", got, disagreementsFirst+2)
		}
		if got := logs.Len(); got != 201 {
			t.Errorf("got %d lines at debug and above, want one for each of 201", got)
		}
	})
}
