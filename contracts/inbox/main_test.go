package inbox_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"), googlesKeepAlive) // started by an import
}

// googlesKeepAlive outlives a Receive of Google's that failed, for seconds.
var googlesKeepAlive = goleak.IgnoreAnyFunction("cloud.google.com/go/pubsub/v2.(*messageIterator).streamKeepAliveHandler")
