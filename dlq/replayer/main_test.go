package replayer_test

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// besideEach is how many tests run at once for each processor, unless -parallel
// says so: most of the time they wait.
const besideEach = 3

func TestMain(m *testing.M) {
	// The command line is read later and overrides it.
	if err := flag.Set("test.parallel", strconv.Itoa(besideEach*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}
