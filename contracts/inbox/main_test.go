package inbox_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"),                             // started by an import
		goleak.IgnoreAnyFunction("cloud.google.com/go/pubsub/v2.(*messageIterator).streamKeepAliveHandler"), // these two: see Receive
		goleak.IgnoreAnyFunction("cloud.google.com/go/pubsub/v2.(*messageIterator).stop"),
	)
}
