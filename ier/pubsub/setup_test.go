package pubsub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/ier"
)

// googleVar names the environment variable that has these tests run against
// Google's emulator too, at its HOST:PORT.
const googleVar = "OUTBOX_RELAY_GOOGLE_PUBSUB"

// patience is how long what should come is waited for: machines and emulators
// stall for seconds.
const patience = time.Minute

func TestMain(m *testing.M) {
	// The client's metrics library starts a worker for the life of the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// cloud is a Pub/Sub that the real client speaks to over gRPC.
type cloud struct {
	clients *Clients
	server  *server // nil on Google's emulator
}

// everyCloud runs a test that needs no faults on each Pub/Sub there is.
func everyCloud(t *testing.T, test func(t *testing.T, c *cloud)) {
	t.Run("pstest", func(t *testing.T) { test(t, setup(t)) })
	t.Run("google", func(t *testing.T) {
		addr := os.Getenv(googleVar)
		if addr == "" {
			t.Skip(googleVar + " is not set")
		}
		test(t, &cloud{clients: connectTo(t, addr)})
	})
}

// setup starts a server that can be made to fail, and connects to it.
func setup(t testing.TB) *cloud {
	t.Helper()
	s := startServer(t)
	return &cloud{clients: connectTo(t, s.addr), server: s}
}

func connectTo(t testing.TB, addr string) *Clients {
	t.Helper()
	setenv(t, "PUBSUB_EMULATOR_HOST", addr)
	clients, err := NewClients(context.Background(), "test-project")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Close(); err != nil {
			t.Errorf("close clients: %v", err)
		}
	})
	return clients
}

func setenv(t testing.TB, name, value string) {
	t.Helper()
	switch t := t.(type) {
	case *testing.T:
		t.Setenv(name, value)
	case *testing.B:
		t.Setenv(name, value)
	}
}

// server is pstest's Pub/Sub behind a switch for faults.
type server struct {
	pubsubpb.PublisherServer
	fake *pstest.Server
	addr string

	mu       sync.Mutex
	fault    func(ctx context.Context, req *pubsubpb.PublishRequest) error
	requests [][]string        // data of each request that arrived, failed ones included
	peers    map[string]string // ordering key: address of the connection that last published it
}

func startServer(t testing.TB) *server {
	t.Helper()
	fake := pstest.NewServer()
	s := &server{PublisherServer: &fake.GServer, fake: fake, peers: map[string]string{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	g := grpc.NewServer()
	pubsubpb.RegisterPublisherServer(g, s)
	pubsubpb.RegisterSubscriberServer(g, &fake.GServer)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := fake.Close(); err != nil {
			t.Errorf("close server: %v", err)
		}
	})
	return s
}

func (s *server) Publish(ctx context.Context, req *pubsubpb.PublishRequest) (*pubsubpb.PublishResponse, error) {
	s.mu.Lock()
	fault := s.fault
	s.requests = append(s.requests, dataOf(req.Messages))
	if from, ok := peer.FromContext(ctx); ok {
		s.peers[req.Messages[0].OrderingKey] = from.Addr.String()
	}
	s.mu.Unlock()
	if fault != nil {
		if err := fault(ctx, req); err != nil {
			return nil, err
		}
	}
	return s.PublisherServer.Publish(ctx, req)
}

// fail has each publish request go through f first. nil mends the server.
func (s *server) fail(f func(ctx context.Context, req *pubsubpb.PublishRequest) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// seen is the data of all requests so far.
func (s *server) seen() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// stored is the data of all messages that were taken, in order.
func (s *server) stored() []string {
	var data []string
	for _, m := range s.fake.Messages() {
		data = append(data, string(m.Data))
	}
	return data
}

func dataOf(messages []*pubsubpb.PubsubMessage) []string {
	var data []string
	for _, m := range messages {
		data = append(data, string(m.Data))
	}
	return data
}

// topic creates a topic of its own for the test, with a subscription.
func (c *cloud) topic(t testing.TB) (topic string) {
	t.Helper()
	topic = "topic-" + uuid.NewString()
	client := c.clients.Background()
	if err := EnsureTopics(t.Context(), client, []string{topic}); err != nil {
		t.Fatal(err)
	}
	_, err := client.SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: "projects/test-project/subscriptions/" + topic, Topic: topicName(client, topic),
		AckDeadlineSeconds: 60, EnableMessageOrdering: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

// messages pulls n messages of the topic, in the order of each key.
func (c *cloud) messages(t *testing.T, topic string, n int) []*pubsubpb.PubsubMessage {
	t.Helper()
	var got []*pubsubpb.PubsubMessage
	if c.server != nil {
		for _, m := range c.server.fake.Messages() {
			if strings.HasSuffix(m.Topic, "/"+topic) {
				got = append(got, &pubsubpb.PubsubMessage{Data: m.Data, Attributes: m.Attributes, OrderingKey: m.OrderingKey})
			}
		}
		return got
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := c.clients.Background().SubscriptionAdminClient
	for len(got) < n {
		name := "projects/test-project/subscriptions/" + topic
		res, err := client.Pull(ctx, &pubsubpb.PullRequest{Subscription: name, MaxMessages: 1000})
		if err != nil {
			t.Fatalf("pull after %d of %d messages: %v", len(got), n, err)
		}
		var ids []string
		for _, m := range res.ReceivedMessages {
			got = append(got, m.Message)
			ids = append(ids, m.AckId)
		}
		if len(ids) == 0 {
			continue
		}
		if err := client.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: name, AckIds: ids}); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// byKey is the data of messages under each ordering key.
func byKey(messages []*pubsubpb.PubsubMessage) map[string][]string {
	keys := map[string][]string{}
	for _, m := range messages {
		keys[m.OrderingKey] = append(keys[m.OrderingKey], string(m.Data))
	}
	return keys
}

// target is a target of topic that is closed with the test.
func (c *cloud) target(t testing.TB, topic string, s Settings) *Target {
	t.Helper()
	target, err := NewTarget(c.clients, topic, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := target.Close(ctx); err != nil {
			t.Errorf("close target: %v", err)
		}
		for lane, p := range target.lanes {
			if n := p.keys.size(); n != 0 {
				t.Errorf("%d ordering keys of %s are still held", n, lane)
			}
		}
	})
	return target
}

// parcels are records first to last of one aggregate, in the critical lane.
// Their data is "key/number".
func parcels(key string, first, last int) []ier.Parcel {
	var all []ier.Parcel
	for i := first; i <= last; i++ {
		all = append(all, parcel(key, fmt.Sprintf("%s/%d", key, i)))
	}
	return all
}

func parcel(key, data string) ier.Parcel {
	rec := &contracts.Record{EventID: data, AggregateID: key, TraceID: "trace"}
	return ier.Parcel{
		Record: rec, Lane: contracts.CriticalLane,
		Message: contracts.NewMessage(rec, []byte(data), contracts.CriticalLane, "TARGET", ""),
	}
}

// numbers are the data of parcels(key, first, last).
func numbers(key string, first, last int) []string {
	var all []string
	for i := first; i <= last; i++ {
		all = append(all, fmt.Sprintf("%s/%d", key, i))
	}
	return all
}

// answers renders a call's errors as "acked", "behind" or "kind code", with
// repeats counted: "acked x3".
func answers(errs []error) []string {
	var all []string
	repeats := 0
	for i, err := range errs {
		word := answer(err)
		if i > 0 && word == answer(errs[i-1]) {
			repeats++
			all[len(all)-1] = fmt.Sprintf("%s x%d", word, repeats)
			continue
		}
		repeats = 1
		all = append(all, word)
	}
	return all
}

func answer(err error) string {
	switch {
	case err == nil:
		return "acked"
	case errors.Is(err, ier.ErrBehind):
		return "behind"
	}
	return contracts.KindOf(err).String() + " " + contracts.CodeOf(err)
}

// eventually polls what only a socket can bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !poll.True(patience, 2*time.Millisecond, ok) {
		t.Fatalf("not in time: %s", what)
	}
}
