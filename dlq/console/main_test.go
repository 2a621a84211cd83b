package console_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// besideEach is how many tests run at once for each processor, unless -parallel
// says so: they wait for the one browser, for streams and for pages to follow.
const besideEach = 2

func TestMain(m *testing.M) {
	// The command line is read later and overrides it.
	if err := flag.Set("test.parallel", strconv.Itoa(besideEach*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code := m.Run()
	chromium.Close()
	if n := chromium.Skipped(); n > 0 {
		fmt.Fprintf(os.Stderr, "%d tests were skipped: they need a Chromium, see make test-console\n", n)
	} else if os.Getenv("OUTBOX_RELAY_AXE") == "" {
		fmt.Fprintln(os.Stderr, "accessibility was not looked at: make test-console does, with axe-core")
	}
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
