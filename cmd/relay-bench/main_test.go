package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childMode makes the test binary the bench itself.
const childMode = "RELAY_BENCH_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childMode) {
	case "bench": // as which the bench also runs itself as the floor
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	goleak.VerifyTestMain(m,
		// The SDK's tracing starts one for good.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
