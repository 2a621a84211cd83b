package main

import (
	"context"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
	"outboxrelay/dlq/console"
	"outboxrelay/dlq/follower"
	"outboxrelay/dlq/trace"
	"outboxrelay/relay"
)

// openAPI makes the admin API of a joined service, and the console on it.
func (s *service) openAPI(queue *dlq.Queue, traces *trace.Finder, cfg serviceConfig) error {
	status := relayStatus{s.relay, cfg.catalog, s.lags, cfg.instance}
	var err error
	s.api, err = admin.New(admin.Config{
		Letters: queue, Replays: queue, Freezes: queue, Lanes: queue, History: history{queue, traces}, Catalog: cfg.catalog, Status: status, Authenticator: cfg.who,
		Log: s.log.Named("admin"), Registerer: s.registry,
	})
	if err != nil {
		return err
	}
	s.console, err = console.New(console.Config{
		API: s.api, Authenticator: cfg.who, Mode: cfg.mode, Catalog: cfg.catalog, Changes: follower.New(queue, s.log.Named("dlq")), Status: status,
		Log: s.log.Named("console"),
	})
	if err != nil {
		return err
	}
	s.cleanUp("console", func(context.Context) error { s.console.Close(); return nil })
	return nil
}

// history is what was done, and by whom, and the way of records.
type history struct {
	*dlq.Queue
	*trace.Finder
}

// relayStatus tells the admin API how the relay does.
type relayStatus struct {
	relay    *relay.Relay
	catalog  *contracts.Catalog
	lags     *lagWindow
	instance string
}

// Lanes implements admin.Status.
func (s relayStatus) Lanes() []admin.LaneStatus {
	var out []admin.LaneStatus
	for _, l := range s.relay.Health().Lanes {
		lane := admin.LaneStatus{
			Lane: l.Lane, SLA: s.catalog.Lanes[l.Lane].SLA, PausedHere: l.Paused, PausedBy: l.PausedBy, PauseReason: l.Reason,
			Queued: l.Queued, InFlight: l.Running, Waiting: l.Waiting, Overdue: l.Overdue,
			Received: l.Received, Delivered: l.Delivered, Breaches: l.Breaches,
		}
		lane.P50, lane.P99 = s.lags.quantiles(l.Lane)
		if l.PausedAt != nil {
			lane.PausedAt = *l.PausedAt
		}
		if l.Oldest != nil {
			lane.Oldest = *l.Oldest
		}
		out = append(out, lane)
	}
	return out
}

// Targets implements admin.Status.
func (s relayStatus) Targets() []admin.TargetStatus {
	var out []admin.TargetStatus
	health := s.relay.Health()
	for _, b := range health.Breakers {
		t := admin.TargetStatus{Target: b.Target, State: b.State, Since: b.Since, Reason: b.Reason, Failures: b.ConsecutiveFailures}
		for _, w := range health.Waiting {
			if w.Target == b.Target {
				t.Waiting = append(t.Waiting, admin.TargetWaiting{Outbox: w.Outbox, Records: w.Records})
			}
		}
		out = append(out, t)
	}
	return out
}

// Instance implements admin.Status.
func (s relayStatus) Instance() admin.InstanceStatus {
	return admin.InstanceStatus{Name: s.instance, Stopping: s.relay.Health().Stopping}
}

// QueueOwner implements admin.Status.
func (s relayStatus) QueueOwner() string { return s.relay.Health().QueueOwner }

// Outboxes implements admin.Status.
func (s relayStatus) Outboxes() []admin.OutboxStatus {
	var out []admin.OutboxStatus
	for _, o := range s.relay.Health().Outboxes {
		status := admin.OutboxStatus{
			Outbox: o.Outbox, Shard: o.Shard, Shards: o.Shards, Slice: s.catalog.Outbox(o.Outbox).Slice,
			Owner: o.Owner, Lease: string(o.Lease), Here: o.Here, Ready: o.Healthy, InMemory: o.InMemory, LeftBehind: o.LeftBehind,
		}
		if o.Since != nil {
			status.Since = *o.Since
		}
		if o.SweptAt != nil {
			status.SweptAt = *o.SweptAt
		}
		if o.Pending >= 0 {
			status.Pending = &o.Pending
		}
		if o.Retrying >= 0 {
			status.Retrying, status.Unattended = &o.Retrying, o.Unattended
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
