package monitoring

import (
	"fmt"
	"time"

	"outboxrelay/contracts"
)

// alerts are all of them, in the order of their playbooks' index.
func alerts(objectives []Objective) []Alert {
	all := laneAlerts(objectives)
	all = append(all, ownershipAlerts()...)
	all = append(all, deliveryAlerts()...)
	all = append(all, deadLetterAlerts()...)
	all = append(all, queueAlerts()...)
	all = append(all, postgresAlerts()...)
	return append(all, processAlerts()...)
}

func laneAlerts(objectives []Objective) []Alert {
	return []Alert{
		{
			Name: "RelayLaneBurnsFast", Group: "relay-lanes",
			Hurt:    "Consumers of a lane get many of their events too late, and the budget of late records for 30 days will be gone within days.",
			Summary: "{{ $labels.lane }}: {{ $value | humanizePercentage }} of its records are later than its SLA.",
			Rules:   burnRules(objectives, fastBurns, Critical),
		},
		{
			Name: "RelayLaneBurnsSlowly", Group: "relay-lanes",
			Hurt:    "Consumers of a lane get more of their events too late than promised, and the budget of late records for 30 days will not last.",
			Summary: "{{ $labels.lane }}: {{ $value | humanizePercentage }} of its records are later than its SLA.",
			Rules:   burnRules(objectives, slowBurns, Warning),
		},
		{
			Name: "RelayLaneStuck", Group: "relay-lanes",
			Hurt:    "At least one event of an outbox has not reached its consumers for minutes, or what became of it cannot be written down; later ones wait behind it.",
			Summary: "{{ $labels.outbox }}, {{ $labels.lane }}: the oldest record that waits is {{ $value | humanizeDuration }} old.",
			Rules:   stuckRules(objectives),
		},
		{
			Name: "RelayLanePaused", Group: "relay-lanes",
			Hurt:    "Nothing of a lane is delivered, because somebody paused it an hour ago or earlier; it may have been forgotten.",
			Summary: "{{ $labels.lane }} has been paused for more than an hour.",
			Rules:   []Rule{{Expr: expr("max by (lane) (relay_lane_paused) == 1"), For: time.Hour, Severity: Warning}},
		},
	}
}

func stuckRules(objectives []Objective) []Rule {
	var rules []Rule
	for _, o := range objectives {
		severity := Warning
		if o.Lane == contracts.CriticalLane {
			severity = Critical
		}
		rules = append(rules, Rule{
			Expr: expr(fmt.Sprintf("max by (outbox, lane) (relay_oldest_waiting_seconds{lane=%q}) > %d unless on (lane) (max by (lane) (relay_lane_paused) == 1)",
				o.Lane, int(o.stuckAfter().Seconds()))),
			For: 2 * time.Minute, Severity: severity, Title: string(o.Lane), Labels: map[string]string{"lane": string(o.Lane)},
		})
	}
	return rules
}

func ownershipAlerts() []Alert {
	return []Alert{
		{
			Name: "RelayAbsent", Group: "relay-ownership",
			Hurt:    "No event of any outbox is delivered: no relay runs, or none is seen by the monitoring.",
			Summary: "No relay tells its metrics.",
			Rules:   []Rule{{Expr: expr("absent(relay_lease_held)"), For: 3 * time.Minute, Severity: Critical}},
		},
		{
			Name: "RelayShareUnowned", Group: "relay-ownership",
			Hurt:    "No event of an outbox is delivered: no instance owns it. Of the share `queue`: no alert is published, no release and no bulk replay goes on.",
			Summary: "No instance owns {{ $labels.share }}.",
			Rules:   []Rule{{Expr: expr("sum by (share) (relay_lease_held) == 0"), For: 2 * time.Minute, Severity: Critical}},
		},
		{
			Name: "RelayLeaseFlapping", Group: "relay-ownership",
			Hurt:    "An outbox changes its owner again and again; each time its events wait for a moment, and some are delivered twice.",
			Summary: "{{ $labels.share }} changed its owner {{ $value }} times in 30 minutes.",
			Rules: []Rule{{
				Expr:     expr("changes((max by (share) (relay_lease_since_timestamp_seconds > 0))[30m:1m]) > 5"),
				Severity: Warning,
			}},
		},
		{
			Name: "RelayListenerNotProven", Group: "relay-ownership",
			Hurt:    "New events of an outbox are not seen as they come: its listener is not proven alive, so they wait for the sweep or for ever.",
			Summary: "{{ $labels.outbox }}, listener {{ $labels.listener }}: its proof has been due for {{ $value | humanizeDuration }}.",
			Rules: []Rule{{
				Expr: expr("max by (outbox, listener) (relay_listener_proof_overdue_seconds) > 60"), For: time.Minute, Severity: Critical,
			}},
		},
		{
			Name: "RelaySweepFoundMissed", Group: "relay-ownership",
			Hurt:    "Some events came up to a minute late: the sweep found what a listener that seemed alive had missed.",
			Summary: "{{ $labels.outbox }}: the sweep found about {{ $value | printf `%.0f` }} records in an hour that a listener missed.",
			Rules: []Rule{{
				Expr: expr(`sum by (outbox) (increase(relay_sweep_found_total{found="missed"}[1h])) > 0`), Severity: Warning,
			}},
		},
		{
			Name: "RelayRecordsMisplaced", Group: "relay-ownership",
			Hurt:    "A producer appends records where no listener looks, so they come late or end as dead letters.",
			Summary: "{{ $labels.outbox }}: the sweep found about {{ $value | printf `%.0f` }} records in an hour that no listener can see ({{ $labels.found }}).",
			Rules: []Rule{{
				Expr:     expr(`sum by (outbox, found) (increase(relay_sweep_found_total{found=~"unplaced|status|shard|retrying|held"}[1h])) > 0`),
				Severity: Warning,
			}},
		},
	}
}

func deliveryAlerts() []Alert {
	return []Alert{
		{
			Name: "RelayBreakerOpen", Group: "relay-delivery",
			Hurt:    "One target gets no events: it has not answered for five minutes. Its records wait in Firestore and are not lost; other targets go on.",
			Summary: "The breaker of {{ $labels.target }} has not been closed for five minutes, and records wait for it.",
			Rules: []Rule{{
				Expr: expr("max by (target) (min_over_time(relay_breaker_state[5m])) > 0 and on (target) sum by (target) (relay_target_waiting_records) > 0"),
				For:  time.Minute, Severity: Critical,
			}},
		},
		{
			Name: "RelayMarksFailing", Group: "relay-delivery",
			Hurt:    "Events are delivered but cannot be marked as delivered: after a crash they come twice, and when memory is full the lane stands still.",
			Summary: "{{ $labels.lane }}: {{ $value | humanizePercentage }} of the commits to Firestore fail.",
			Rules: []Rule{{
				Expr: expr(`sum by (lane) (rate(relay_commit_seconds_count{result="failed"}[5m])) / (sum by (lane) (rate(relay_commit_seconds_count[5m])) > 0) > 0.2`),
				For:  5 * time.Minute, Severity: Critical,
			}},
		},
		{
			Name: "RelayOutboxUnsettled", Group: "relay-delivery",
			Hurt:    "What became of an outbox's events cannot be written: after a crash they come twice, dead letters are not there yet, and when its memory is full no later event of it is delivered.",
			Summary: "{{ $labels.outbox }}: Firestore has not taken the outcome of {{ $value }} records for five minutes.",
			Rules: []Rule{{
				Expr: expr("max by (outbox) (min_over_time(relay_unsettled_records[5m])) > 0"),
				For:  time.Minute, Severity: Critical,
			}},
		},
	}
}
