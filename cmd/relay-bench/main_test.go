package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childMode makes the test binary the bench itself, or a program that a test
// runs as its child.
const childMode = "RELAY_BENCH_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "bench": // as which the bench also runs itself as the floor
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
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
	goleak.VerifyTestMain(m,
		// The SDK's tracing starts one for good.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
