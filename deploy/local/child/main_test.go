package child

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childMode makes the test binary a program that a test runs as its child.
const childMode = "CHILD_TEST_MODE"

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "waits":
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		_, _ = os.Stdout.WriteString("ready\n")
		<-signals
		os.Exit(0)
	case "fails":
		_, _ = os.Stderr.WriteString("no cheese today\n")
		os.Exit(7)
	}
	goleak.VerifyTestMain(m)
}
