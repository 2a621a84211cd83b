package pubsub

import (
	"context"
	"maps"
	"path"
	"sync"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// Counts is what the server has been asked and has answered since it was opened.
type Counts struct {
	Calls     map[string]int64 `json:"calls"`     // by method
	Failed    map[string]int64 `json:"failed"`    // by method, injected faults included
	Published map[string]int64 `json:"published"` // messages accepted, by topic ID
	Retained  int              `json:"retained"`  // messages in memory
}

type counters struct {
	mu        *sync.Mutex
	calls     map[string]int64
	failed    map[string]int64
	published map[string]int64
}

func newCounters() counters {
	return counters{mu: new(sync.Mutex), calls: map[string]int64{}, failed: map[string]int64{}, published: map[string]int64{}}
}

// Counts returns a copy of the figures so far.
func (s *Server) Counts() Counts {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	return Counts{
		Calls:     maps.Clone(s.counts.calls),
		Failed:    maps.Clone(s.counts.failed),
		Published: maps.Clone(s.counts.published),
		Retained:  s.retention.size(),
	}
}

func (s *Server) count(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	method := path.Base(info.FullMethod)
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	s.counts.calls[method]++
	if status.Code(err) != 0 {
		s.counts.failed[method]++
		return resp, err
	}
	if publish, ok := req.(*pb.PublishRequest); ok {
		s.counts.published[path.Base(publish.Topic)] += int64(len(publish.Messages))
	}
	return resp, nil
}
