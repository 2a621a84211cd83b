package publisher

import (
	"outboxrelay/contracts"
	"outboxrelay/relay/postgres"
)

// lane is that of every row: the table knows none.
const lane = contracts.StandardLane

// catalogOf has the router label its series with the table's event types, and have them at zero
// from the start.
func catalogOf(topic string) *contracts.Catalog {
	outbox := &contracts.Outbox{Name: postgres.Table}
	for _, t := range postgres.EventTypes() {
		outbox.Events = append(outbox.Events, &contracts.EventRoute{Type: string(t), Lane: lane, Targets: []string{topic}})
	}
	return &contracts.Catalog{
		Targets:  map[string]contracts.TargetSpec{topic: {Name: topic, Kind: contracts.KindPubSub, Topic: topic}},
		Outboxes: []*contracts.Outbox{outbox},
	}
}
