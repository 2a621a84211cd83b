package pubsub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gpubsub "cloud.google.com/go/pubsub/v2"
	vkit "cloud.google.com/go/pubsub/v2/apiv1"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	"outboxrelay/contracts"
)

// Clients holds one Pub/Sub client for each lane. Each has its own connections,
// so that the streams of a flooded lane never stand in front of a publish of
// another.
type Clients struct {
	lanes map[contracts.Lane]*gpubsub.Client
}

// Connections to Pub/Sub.
var (
	// ConnectParams are how a connection is made, to Firestore as well. A lost connection is tried again at once and then every 2 s at the
	// longest. gRPC's default of up to 2 min would keep every probe of a breaker
	// failing long after the outage is over.
	ConnectParams = grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
		MinConnectTimeout: 3 * time.Second,
	}
	// Pings stay as rare as Google's own client sends them, as servers hang up
	// on more. The timeout is also the connection's TCP user timeout: a path
	// that swallows data is given up after 5 s and dialled anew, not after 20 s.
	alive = keepalive.ClientParameters{Time: 5 * time.Minute, Timeout: 5 * time.Second}
)

// NewClients connects to the project's Pub/Sub, or to the emulator at
// PUBSUB_EMULATOR_HOST when that is set. opts come after its own. The
// connections are made on first use: an unreachable service is no error here.
func NewClients(ctx context.Context, project string, opts ...option.ClientOption) (*Clients, error) {
	own := []option.ClientOption{
		option.WithGRPCDialOption(grpc.WithConnectParams(ConnectParams)),
		option.WithGRPCDialOption(grpc.WithKeepaliveParams(alive)),
		option.WithGRPCDialOption(OwnBuffers),
	}
	config := &gpubsub.ClientConfig{TopicAdminCallOptions: &vkit.TopicAdminCallOptions{Publish: publishCallOptions()}}
	c := &Clients{lanes: map[contracts.Lane]*gpubsub.Client{}}
	for _, lane := range contracts.Lanes() {
		client, err := gpubsub.NewClientWithConfig(ctx, project, config, slices.Concat(own, opts)...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect to Pub/Sub for %s: %w", lane, err), c.Close())
		}
		c.lanes[lane] = client
	}
	return c, nil
}

// Lane returns the lane's client. A lane that does not exist gets the one of
// the background lane.
func (c *Clients) Lane(lane contracts.Lane) *gpubsub.Client {
	if client := c.lanes[lane]; client != nil {
		return client
	}
	return c.Background()
}

// Background returns the client of the background lane, for all that is not a
// delivery: topics, samples, alerts.
func (c *Clients) Background() *gpubsub.Client { return c.lanes[contracts.BackgroundLane] }

// Close drops all connections. Calls under way fail with Canceled; close
// targets and samplers first.
func (c *Clients) Close() error {
	var errs []error
	for lane, client := range c.lanes {
		if err := client.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close client of %s: %w", lane, err))
		}
	}
	return errors.Join(errs...)
}
