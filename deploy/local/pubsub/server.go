package pubsub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// maxRequestBytes is what the server takes off the wire. It lies above Pub/Sub's
// limit for a publish, so that the limit is answered and not the transport's.
const maxRequestBytes = 32 << 20

// Options configure a Server. The zero value works.
type Options struct {
	Log *zap.Logger // nil: silent

	// Retain is how many messages may pile up before the acknowledged ones are
	// cleared. 0: DefaultRetain.
	Retain int
	// ClearEvery is how often that is looked at. 0: a second.
	ClearEvery time.Duration
	// Now dates messages and faults. nil: time.Now.
	Now func() time.Time
}

// Server is an embedded Pub/Sub. It is ready for CreateTopics at once and takes
// clients after Start.
type Server struct {
	log       *zap.Logger
	fake      *pstest.Server
	grpc      *grpc.Server
	faults    *Faults
	retention *retention
	counts    counters

	closing  sync.Once
	closeErr error

	stop   context.CancelFunc // ends the clearing
	ended  chan struct{}      // closed when the clearing has ended
	served chan struct{}      // closed when Serve has returned; nil before Start
}

// Open makes a server without topics. The caller owns it and calls Close.
func Open(opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	fake, err := newFake()
	if err != nil {
		return nil, err
	}
	fake.SetTimeNowFunc(increasing(opts.Now))
	s := &Server{
		log:       opts.Log,
		fake:      fake,
		faults:    newFaults(opts.Now),
		retention: newRetention(fake, opts),
		counts:    newCounters(),
		ended:     make(chan struct{}),
	}
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxSendMsgSize(maxRequestBytes),
		grpc.ChainUnaryInterceptor(s.count, s.disturb, s.admit, s.retention.intercept),
		// Clients ping to notice a dead peer; the default would punish them.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	pb.RegisterPublisherServer(s.grpc, &fake.GServer)
	pb.RegisterSubscriberServer(s.grpc, &fake.GServer)

	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		defer close(s.ended)
		s.retention.run(ctx)
	}()
	return s, nil
}

// newFake starts pstest. It insists on a listener of its own, which nobody is
// told of, and panics where that fails.
func newFake() (fake *pstest.Server, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("open pub/sub fake: %v", p)
		}
	}()
	return pstest.NewServer(), nil
}

// Start listens on addr ("127.0.0.1:0": any free port) and returns the address
// that clients dial. It serves until Close and may be called once.
func (s *Server) Start(addr string) (string, error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen for pub/sub: %w", err)
	}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		if err := s.grpc.Serve(lis); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			s.log.Error("pub/sub server ended", zap.Error(err))
		}
	}()
	return lis.Addr().String(), nil
}

// Close ends all calls and forgets everything.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.stop()
		<-s.ended
		s.grpc.Stop()
		if s.served != nil {
			<-s.served
		}
		s.closeErr = s.fake.Close()
		s.fake.Wait()
	})
	return s.closeErr
}

// CreateTopics makes the topics with these IDs in project. Those that exist stay
// as they are.
func (s *Server) CreateTopics(project string, ids []string) error {
	for _, id := range ids {
		name := TopicName(project, id)
		_, err := s.fake.GServer.CreateTopic(context.Background(), &pb.Topic{Name: name})
		if err != nil && status.Code(err) != codes.AlreadyExists {
			return fmt.Errorf("create topic %s: %w", id, err)
		}
	}
	return nil
}

// Faults is the server's fault switch.
func (s *Server) Faults() *Faults { return s.faults }

// TopicName returns a topic's full name.
func TopicName(project, topic string) string {
	return "projects/" + project + "/topics/" + topic
}

// SubscriptionName returns a subscription's full name.
func SubscriptionName(project, subscription string) string {
	return "projects/" + project + "/subscriptions/" + subscription
}
