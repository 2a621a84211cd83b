package main

import (
	"outboxrelay/contracts"
	"outboxrelay/dlq"
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
	cfg := dlq.SiblingConfig{Log: s.log.Named("dlq"), Metrics: dlq.NewMetrics(s.registry), Leads: s.relay.Leads}
	replayer, err := dlq.NewReplayer(queue, s.relay, cfg)
	if err != nil {
		return err
	}
	review, err := dlq.NewReview(queue, s.relay, cfg)
	if err != nil {
		return err
	}
	freezer, err := dlq.NewFreezer(queue, s.relay, alerts, cfg)
	if err != nil {
		return err
	}
	s.relay.Join(
		relay.Sibling{Name: "replayer", Run: replayer.Run},
		relay.Sibling{Name: "review", Run: review.Run},
		relay.Sibling{Name: "freezer", Run: freezer.Run},
	)
	return nil
}
