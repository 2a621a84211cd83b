package relay

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// modelChecks is how many walks each model test takes, unless -rapid.checks says
// so. With rapid's own 100 a gate's rules could be taken out unnoticed.
const modelChecks = "4000"

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", modelChecks); err != nil { // the command line is read later and overrides it
		panic(err)
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"), // started by an import
		// toxiproxy leaves the two ends of a pipe behind where a connection ends in the middle of a chunk.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
	)
}
