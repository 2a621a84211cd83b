package auth_test

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"outboxrelay/deploy/local/auth"
	"outboxrelay/deploy/local/crashtest"
)

// googleAuth is HOST:PORT of Google's Auth emulator, for the tests on it.
const googleAuth = "OUTBOX_RELAY_GOOGLE_AUTH"

func TestMain(m *testing.M) {
	crashtest.ServeIfChild(func(dir string) (crashtest.Server, error) {
		return auth.Open(auth.Options{DataDir: dir})
	})
	opts := []goleak.Option{
		// The client libraries' metrics start a worker for the life of the process.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		goleak.Cleanup(func(code int) { os.Exit(code) }),
	}
	if os.Getenv(googleAuth) != "" {
		// The Admin SDK has no Close, and that emulator lives on.
		opts = append(opts, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
			goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	}
	goleak.VerifyTestMain(m, opts...)
}

// start runs a server until the test ends.
func start(t *testing.T, opts auth.Options) (*auth.Server, string) {
	t.Helper()
	s, err := auth.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	addr, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, addr
}
