package console_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"outboxrelay/deploy/local/thorough"
)

func TestMain(m *testing.M) {
	thorough.Beside(2) // they wait for the one browser, for streams and for pages to follow
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
