package main

import (
	"context"
	"fmt"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	local "outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/rig"
)

// standsStill is how long nothing may come of what is left before Google's Pub/Sub emulator is taken to
// stand still: longer than it waits for an acknowledgement. Where messages are ordered it lets the
// keys of a stream that a kill cut go only in part. A program of nothing but its client, with six
// subscriptions, 2,000 messages and 20 kills, gets 11,170 of 12,000 so, and all of them without
// ordering.
const standsStill = 30 * time.Second

// nowhere is an address at which nobody listens. While a subscription pushes there, the emulator
// tries each message that it holds, and lets its key go as that fails.
const (
	nowhere    = "http://127.0.0.1:1/"
	pushingFor = 5 * time.Second
)

// standstill is how often the emulator stood still.
type standstill struct {
	times  int
	latest time.Time
}

// ends has the emulator begin anew with what is not acknowledged, where nothing moved since a while: a
// subscription that is made one that pushes for a while, and one that pulls again, lets its keys go.
func (i *standstill) ends(ctx context.Context, s *stage, moved time.Time) error {
	if s.opts.cloud != rig.CloudGoogle || time.Since(moved) < standsStill || time.Since(i.latest) < standsStill {
		return nil
	}
	i.times, i.latest = i.times+1, time.Now()
	s.say("the emulator stands still: its subscriptions begin anew")
	if err := s.push(ctx, &pb.PushConfig{PushEndpoint: nowhere}); err != nil {
		return err
	}
	rig.Sleep(ctx, pushingFor)
	return s.push(ctx, &pb.PushConfig{})
}

// push has every subscription push as config says; an empty one has it pull.
func (s *stage) push(ctx context.Context, config *pb.PushConfig) error {
	for consumer, topics := range consumersOf(s.catalog) {
		for _, topic := range topics {
			req := &pb.ModifyPushConfigRequest{Subscription: local.SubscriptionName(project, subscription(consumer, topic)), PushConfig: config}
			if err := s.clients.Messages.SubscriptionAdminClient.ModifyPushConfig(ctx, req); err != nil {
				return fmt.Errorf("have %s begin anew: %w", req.Subscription, err)
			}
		}
	}
	return nil
}
