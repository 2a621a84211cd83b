package pubsub

import (
	"context"
	"path"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// disturb lets a call suffer the fault that is switched on for it.
func (s *Server) disturb(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	publish, _ := req.(*pb.PublishRequest) // nil for any other call
	fault, ok := s.faults.hit(path.Base(info.FullMethod), publish)
	if !ok {
		return next(ctx, req)
	}
	if fault.Delay > 0 {
		select {
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		case <-time.After(fault.Delay):
		}
	}
	if fault.Code == codes.OK {
		return next(ctx, req)
	}
	if fault.LoseResponse {
		if _, err := next(ctx, req); err != nil {
			return nil, err
		}
	}
	return nil, status.Error(fault.Code, "injected fault")
}
