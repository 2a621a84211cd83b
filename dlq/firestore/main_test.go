package firestore_test

import (
	"testing"

	"go.uber.org/goleak"

	"outboxrelay/deploy/local/thorough"
)

func TestMain(m *testing.M) {
	// A few wait for retries and for intervals to pass.
	thorough.Beside(3)
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}
