package firestore_test

import (
	"context"
	"testing"

	gcp "cloud.google.com/go/firestore"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"outboxrelay/deploy/local/crashtest"
	"outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

func TestMain(m *testing.M) {
	crashtest.ServeIfChild(func(dir string) (crashtest.Server, error) {
		return firestore.Open(firestore.Options{DataDir: dir})
	})
	// A few wait for retries and for intervals to pass.
	thorough.Beside(3)
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// start runs a server until the test ends.
func start(t testing.TB, o firestore.Options) (*firestore.Server, string) {
	t.Helper()
	s, err := firestore.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
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

// batch is an atomic commit of several writes.
//
//nolint:staticcheck // deprecated, and the only commit of several writes that begins no transaction
func batch(c *gcp.Client) *gcp.WriteBatch {
	return c.Batch()
}

// owner is the administrator that emulators let in, as clients that find an emulator
// in their environment say they are.
type owner struct{}

func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

func (owner) RequireTransportSecurity() bool { return false }

// dial returns a client of a server, without the environment's say.
func dial(t testing.TB, addr string, opts ...grpc.DialOption) *gcp.Client {
	t.Helper()
	conn, err := grpc.NewClient(addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(owner{}), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := gcp.NewClient(context.Background(), "test", option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
