package publisher

import "outboxrelay/contracts"

// Table is where the rows stand, and the outbox of all metrics and logs.
const Table = "outbox_events"

// lane is that of every row: the table knows none.
const lane = contracts.StandardLane

// catalogOf has the router label its series with the table's event types, and have them at zero
// from the start.
func catalogOf(topic string, eventTypes []string) *contracts.Catalog {
	outbox := &contracts.Outbox{Name: Table}
	for _, t := range eventTypes {
		outbox.Events = append(outbox.Events, &contracts.EventRoute{Type: t, Lane: lane, Targets: []string{topic}})
	}
	return &contracts.Catalog{
		Targets:  map[string]contracts.TargetSpec{topic: {Name: topic, Kind: contracts.KindPubSub, Topic: topic}},
		Outboxes: []*contracts.Outbox{outbox},
	}
}
