package relay

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"outboxrelay/deploy/local/thorough"
)

// modelChecks is how many walks each model test takes, unless -rapid.checks says
// so. With rapid's own 100 a gate's rules could be taken out unnoticed.
const modelChecks = "4000"

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", modelChecks); err != nil { // the command line is read later and overrides it
		panic(err)
	}
	thorough.Beside(5) // they wait for servers over gRPC and for intervals to pass: alone, each leaves two thirds of a processor idle
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"), // started by an import
		// A subscriber notices only at its next ping, of a ticker that is stopped, that it has ended.
		goleak.IgnoreTopFunction("cloud.google.com/go/pubsub/v2.(*messageIterator).streamKeepAliveHandler"),
		// toxiproxy leaves a pipe behind, or an end of it, where a connection ends in the middle of a
		// chunk or while its toxics change. A proxy that nobody closed would still be found by its listener.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"),
	)
}
