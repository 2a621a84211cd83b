// Package status tells the admin API how the relay of this instance does.
package status

import (
	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
	"outboxrelay/relay"
)

// Status implements admin.Status.
type Status struct {
	Relay   *relay.Relay
	Catalog *contracts.Catalog
	Lags    *Lags
	Name    string // of the instance
}

// Lanes implements admin.Status.
func (s Status) Lanes() []admin.LaneStatus {
	var out []admin.LaneStatus
	for _, l := range s.Relay.Health().Lanes {
		lane := laneOf(l)
		lane.SLA = s.Catalog.Lanes[l.Lane].SLA
		lane.P50, lane.P99 = s.Lags.quantiles(l.Lane)
		out = append(out, lane)
	}
	return out
}

// laneOf is what the relay knows of a lane.
func laneOf(l relay.LaneHealth) admin.LaneStatus {
	lane := admin.LaneStatus{
		Lane: l.Lane, PausedHere: l.Paused, PausedBy: l.PausedBy, PauseReason: l.Reason,
		Queued: l.Queued, InFlight: l.Running, Waiting: l.Waiting, Overdue: l.Overdue,
		Received: l.Received, Delivered: l.Delivered, Breaches: l.Breaches,
	}
	if l.PausedAt != nil {
		lane.PausedAt = *l.PausedAt
	}
	if l.Oldest != nil {
		lane.Oldest = *l.Oldest
	}
	for _, u := range l.Unsettled {
		lane.Unsettled = append(lane.Unsettled, admin.Unsettled(u))
	}
	return lane
}

// Targets implements admin.Status.
func (s Status) Targets() []admin.TargetStatus {
	var out []admin.TargetStatus
	health := s.Relay.Health()
	for _, b := range health.Breakers {
		t := admin.TargetStatus{Target: b.Target, State: b.State, Since: b.Since, Reason: b.Reason, Error: b.Error, Failures: b.ConsecutiveFailures}
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
func (s Status) Instance() admin.InstanceStatus {
	return admin.InstanceStatus{Name: s.Name, Stopping: s.Relay.Health().Stopping}
}

// QueueOwner implements admin.Status.
func (s Status) QueueOwner() string { return s.Relay.Health().QueueOwner }

// Outboxes implements admin.Status.
func (s Status) Outboxes() []admin.OutboxStatus {
	var out []admin.OutboxStatus
	for _, o := range s.Relay.Health().Outboxes {
		status := admin.OutboxStatus{
			Outbox: o.Outbox, Shard: o.Shard, Shards: o.Shards, Slice: s.Catalog.Outbox(o.Outbox).Slice,
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
