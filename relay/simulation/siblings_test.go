package simulation

import (
	"go.uber.org/zap"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/bulk"
	"outboxrelay/dlq/freezer"
	"outboxrelay/dlq/replayer"
	"outboxrelay/dlq/review"
	"outboxrelay/dlq/sibling"
	"outboxrelay/relay"
)

// joinSiblings lets the replayer, the review queue and the freezer run beside a
// relay, as the service does.
func joinSiblings(r *relay.Relay, queue *dlq.Queue, alerts freezer.Alerts, log *zap.Logger) error {
	cfg := sibling.Config{Leads: r.Leads, Log: log}
	var replayers []*replayer.Replayer
	for _, tier := range contracts.Tiers() {
		one, err := replayer.New(queue, r, tier, replayer.Config{Config: cfg})
		if err != nil {
			return err
		}
		replayers = append(replayers, one)
	}
	bulks, err := bulk.New(queue, bulk.Config{Config: cfg})
	if err != nil {
		return err
	}
	reviews, err := review.New(queue, review.Config{Config: cfg}, replayers[1], bulks)
	if err != nil {
		return err
	}
	freezes, err := freezer.New(queue, alerts, freezer.Config{Config: cfg}, replayers[2])
	if err != nil {
		return err
	}
	r.Join(
		relay.Sibling{Name: "replayer", Run: replayers[0].Run},
		relay.Sibling{Name: "review", Run: reviews.Run},
		relay.Sibling{Name: "freezer", Run: freezes.Run},
	)
	return nil
}
