package replayer_test

import (
	"testing"

	"go.uber.org/goleak"

	"outboxrelay/deploy/local/thorough"
)

func TestMain(m *testing.M) {
	// They wait for intervals to pass.
	thorough.Beside(5)
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}
