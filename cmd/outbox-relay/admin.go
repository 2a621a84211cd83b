package main

import (
	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/relay"
)

// openAPI makes the admin API of a joined service.
func (s *service) openAPI(queue *dlq.Queue, cfg serviceConfig) error {
	var err error
	s.api, err = admin.New(admin.Config{
		Queue: queue, Catalog: cfg.catalog, Status: relayStatus{s.relay, cfg.catalog}, Authenticator: cfg.who,
		Log: s.log.Named("admin"), Registerer: s.registry,
	})
	return err
}

// relayStatus tells the admin API how the relay does.
type relayStatus struct {
	relay   *relay.Relay
	catalog *contracts.Catalog
}

// Lanes implements admin.Status.
func (s relayStatus) Lanes() []admin.LaneStatus {
	var out []admin.LaneStatus
	for _, l := range s.relay.Health().Lanes {
		out = append(out, admin.LaneStatus{
			Lane: l.Lane, SLA: s.catalog.Lanes[l.Lane].SLA, PausedHere: l.Paused,
			Queued: l.Queued, InFlight: l.Running, Waiting: l.Waiting, Delivered: l.Delivered, Breaches: l.Breaches,
		})
	}
	return out
}

// Outboxes implements admin.Status.
func (s relayStatus) Outboxes() []admin.OutboxStatus {
	var out []admin.OutboxStatus
	for _, o := range s.relay.Health().Outboxes {
		status := admin.OutboxStatus{
			Outbox: o.Outbox, Slice: s.catalog.Outbox(o.Outbox).Slice, Ready: o.Healthy, InMemory: o.InMemory, LeftBehind: o.LeftBehind,
		}
		if o.SweptAt != nil {
			status.SweptAt = *o.SweptAt
		}
		if o.Pending >= 0 {
			status.Pending = &o.Pending
		}
		for _, l := range o.Listeners {
			listener := admin.ListenerStatus{
				Listener: l.Listener, State: l.State, CanaryMillis: l.CanaryMillis, Rebuilds: l.Rebuilds, LastReason: l.LastReason,
			}
			if l.ProvenAt != nil {
				listener.ProvenAt = *l.ProvenAt
			}
			status.Listeners = append(status.Listeners, listener)
		}
		out = append(out, status)
	}
	return out
}
