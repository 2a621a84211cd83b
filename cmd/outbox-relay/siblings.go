package main

import (
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/bulk"
	"outboxrelay/dlq/freezer"
	"outboxrelay/dlq/replayer"
	"outboxrelay/dlq/review"
	"outboxrelay/dlq/sibling"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay"
)

// joinSiblings lets the replayer, the review queue and the freezer run beside
// the relay, which delivers what they replay.
func (s *service) joinSiblings(queue *dlq.Queue, clients *ierpubsub.Clients) error {
	alerts, err := ierpubsub.NewPublisher(clients.Background(), contracts.TopicErrors, ierpubsub.Settings{})
	if err != nil {
		return err
	}
	s.cleanUp("alerts", alerts.Close)
	cfg := sibling.Config{Log: s.log.Named("dlq"), Leads: s.relay.Leads}
	replays := replayer.Config{Config: cfg, Metrics: replayer.NewMetrics(s.registry)}
	scheduled, err := replayer.New(queue, s.relay, contracts.SafeAuto, replays)
	if err != nil {
		return err
	}
	reviewed, err := replayer.New(queue, s.relay, contracts.ReviewRequired, replays)
	if err != nil {
		return err
	}
	authorized, err := replayer.New(queue, s.relay, contracts.SecurityBlock, replays)
	if err != nil {
		return err
	}
	bulks, err := bulk.New(queue, bulk.Config{Config: cfg, Metrics: bulk.NewMetrics(s.registry)})
	if err != nil {
		return err
	}
	reviews, err := review.New(queue, review.Config{Config: cfg, Metrics: review.NewMetrics(s.registry)}, reviewed, bulks)
	if err != nil {
		return err
	}
	freezes, err := freezer.New(queue, alerts, freezer.Config{Config: cfg, Metrics: freezer.NewMetrics(s.registry)}, authorized)
	if err != nil {
		return err
	}
	s.relay.Join(
		relay.Sibling{Name: "replayer", Run: scheduled.Run},
		relay.Sibling{Name: "review", Run: reviews.Run},
		relay.Sibling{Name: "freezer", Run: freezes.Run},
	)
	return nil
}
