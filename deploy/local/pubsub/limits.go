package pubsub

import (
	"context"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Pub/Sub's limits for one publish.
const (
	MaxPublishBytes    = 10_000_000
	MaxPublishMessages = 1000
	MaxAttributeBytes  = 1024 // of a value
	MaxOrderingKey     = 1024 // bytes
)

// admit refuses a publish that Pub/Sub itself would refuse.
func (s *Server) admit(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if publish, ok := req.(*pb.PublishRequest); ok {
		if err := checkLimits(publish); err != nil {
			return nil, err
		}
	}
	return next(ctx, req)
}

func checkLimits(req *pb.PublishRequest) error {
	switch n := len(req.Messages); {
	case n == 0:
		return status.Error(codes.InvalidArgument, "a publish needs at least one message")
	case n > MaxPublishMessages:
		return status.Errorf(codes.InvalidArgument, "a publish holds %d messages, more than %d", n, MaxPublishMessages)
	}
	if size := proto.Size(req); size > MaxPublishBytes {
		return status.Errorf(codes.InvalidArgument, "a publish of %d bytes is over the limit of %d", size, MaxPublishBytes)
	}
	for _, m := range req.Messages {
		if len(m.Data) == 0 && len(m.Attributes) == 0 {
			return status.Error(codes.InvalidArgument, "a message needs data or an attribute")
		}
		if len(m.OrderingKey) > MaxOrderingKey {
			return status.Errorf(codes.InvalidArgument, "an ordering key of %d bytes is over the limit of %d", len(m.OrderingKey), MaxOrderingKey)
		}
		for key, value := range m.Attributes {
			if len(value) > MaxAttributeBytes {
				return status.Errorf(codes.InvalidArgument, "attribute %q of %d bytes is over the limit of %d", key, len(value), MaxAttributeBytes)
			}
		}
	}
	return nil
}
