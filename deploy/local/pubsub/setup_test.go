package pubsub

import (
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"outboxrelay/deploy/local/poll"
)

const project = "test-project"

func TestMain(m *testing.M) {
	// The client library's metrics start a worker for the life of the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// setup starts a server with topic "orders" and dials it.
func setup(t *testing.T, opts Options) (*Server, *pubsub.Client) {
	t.Helper()
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	addr, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTopics(project, []string{"orders", "invoices"}); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(maxRequestBytes)))
	if err != nil {
		t.Fatal(err)
	}
	client, err := pubsub.NewClient(t.Context(), project, option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = conn.Close() // the client has closed it already
	})
	return s, client
}

// publish makes one call with the given messages; no client retries it.
func publish(t *testing.T, client *pubsub.Client, topic string, messages ...*pb.PubsubMessage) error {
	t.Helper()
	_, err := client.TopicAdminClient.Publish(t.Context(), &pb.PublishRequest{Topic: TopicName(project, topic), Messages: messages}, noRetry)
	return err
}

func message(key, data string) *pb.PubsubMessage {
	return &pb.PubsubMessage{Data: []byte(data), OrderingKey: key}
}

// eventually polls until ok, for what arrives over a socket.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !poll.True(2*time.Minute, 2*time.Millisecond, ok) {
		t.Fatalf("gave up waiting until %s", what)
	}
}
