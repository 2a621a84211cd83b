// Package brokerproxy stands between relays and their Pub/Sub, whichever that is,
// so that a message can be refused, be held, or lose its answer on the way.
package brokerproxy

import (
	"context"
	"errors"
	"fmt"
	"net"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Publish passes a request on, and returns Pub/Sub's answer.
type Publish func(context.Context, *pb.PublishRequest) (*pb.PublishResponse, error)

// Handler answers a request to publish: by next, or in its place.
type Handler func(ctx context.Context, req *pb.PublishRequest, next Publish) (*pb.PublishResponse, error)

// Proxy passes on what relays ask of Pub/Sub. Its owner calls Close.
type Proxy struct {
	Addr string // HOST:PORT for the relays

	conn   *grpc.ClientConn
	server *grpc.Server
	served chan error
}

// Start stands in front of the Pub/Sub at upstream (HOST:PORT).
func Start(upstream string, handle Handler) (*Proxy, error) {
	conn, err := grpc.NewClient("passthrough:///"+upstream, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start broker proxy: %w", err), conn.Close())
	}
	p := &Proxy{Addr: lis.Addr().String(), conn: conn, server: grpc.NewServer(), served: make(chan error, 1)}
	pb.RegisterPublisherServer(p.server, &publisher{to: pb.NewPublisherClient(conn), handle: handle})
	go func() { p.served <- p.server.Serve(lis) }() // ends with Close
	return p, nil
}

// Close ends every call that is under way, and waits.
func (p *Proxy) Close() error {
	p.server.Stop()
	return errors.Join(<-p.served, p.conn.Close())
}

// publisher is what a relay calls. What no relay calls is refused.
type publisher struct {
	pb.UnimplementedPublisherServer
	to     pb.PublisherClient
	handle Handler
}

func (p *publisher) Publish(ctx context.Context, req *pb.PublishRequest) (*pb.PublishResponse, error) {
	return p.handle(ctx, req, func(ctx context.Context, req *pb.PublishRequest) (*pb.PublishResponse, error) {
		return p.to.Publish(onward(ctx), req)
	})
}

func (p *publisher) CreateTopic(ctx context.Context, req *pb.Topic) (*pb.Topic, error) {
	return p.to.CreateTopic(onward(ctx), req)
}

func (p *publisher) GetTopic(ctx context.Context, req *pb.GetTopicRequest) (*pb.Topic, error) {
	return p.to.GetTopic(onward(ctx), req)
}

func (p *publisher) ListTopics(ctx context.Context, req *pb.ListTopicsRequest) (*pb.ListTopicsResponse, error) {
	return p.to.ListTopics(onward(ctx), req)
}

func (p *publisher) DeleteTopic(ctx context.Context, req *pb.DeleteTopicRequest) (*emptypb.Empty, error) {
	return p.to.DeleteTopic(onward(ctx), req)
}

// onward carries the caller's metadata on: the routing header is among it.
func onward(ctx context.Context) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	return metadata.NewOutgoingContext(ctx, md)
}
