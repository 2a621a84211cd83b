package monitoring

import (
	"fmt"
	"time"
)

// Dashboard is the one dashboard. It refers to nothing recorded, so that it
// shows the same wherever it is loaded.
type Dashboard struct {
	Title, Description string
	Sections           []Section
}

// Section is a row of panels under one heading.
type Section struct {
	Title  string
	Panels []Panel
}

// Panel is one chart, or one number.
type Panel struct {
	Title   string
	Help    string // how to read it
	Unit    Unit
	Number  bool     // it shows the latest value alone
	Bad     *float64 // a Number above it, or below it with BadLow, is shown as bad
	BadLow  bool
	Queries []Query
}

// Query is one query of a panel. In Legend, {{label}} stands for a label.
type Query struct {
	Expr, Legend string
}

// Unit is what a panel's values are.
type Unit string

// The units of panels.
const (
	Count     Unit = "count"
	PerSecond Unit = "1/s"
	Seconds   Unit = "s"
	Share     Unit = "share" // of 1
	Bytes     Unit = "bytes"
)

func dashboard(objectives []Objective) Dashboard {
	return Dashboard{
		Title:       "outbox-relay",
		Description: "What is hurt stands first. Each alert has a playbook in " + PlaybookDir + ".",
		Sections: []Section{
			{"What is hurt", hurtPanels(objectives)},
			{"Lanes", lanePanels()},
			{"Outboxes", outboxPanels()},
			{"Targets", targetPanels()},
			{"Dead letters", deadLetterPanels()},
			{"Work queues", queuePanels()},
			{"Outbox in Postgres", postgresPanels()},
			{"Ownership and Firestore", ownershipPanels()},
			{"Claims", claimsPanels()},
			{"Admin API and process", processPanels()},
		},
	}
}

func hurtPanels(objectives []Objective) []Panel {
	var panels []Panel
	for _, o := range objectives {
		panels = append(panels, Panel{
			Title: fmt.Sprintf("%s within %s", o.Lane, sla(o.SLA)), Unit: Share, Number: true, Bad: new(o.Target), BadLow: true,
			Help:    fmt.Sprintf("Share of the last hour's records that were delivered within the SLA. The objective is %g over 30 days.", o.Target),
			Queries: []Query{{Expr: "1 - " + lateRatio(fmt.Sprintf("{lane=%q}", o.Lane), "1h")}},
		})
	}
	number := func(title, help string, unit Unit, most float64, query string) Panel {
		return Panel{Title: title, Help: help, Unit: unit, Number: true, Bad: new(most), Queries: []Query{{Expr: query}}}
	}
	return append(panels,
		number("Breakers not closed", "Targets that do not answer. Their records wait in Firestore.", Count, 0,
			"count(max by (target) (relay_breaker_state) > 0) or vector(0)"),
		number("SECURITY_BLOCK dead letters", "Each means an account whose rights are not what they should be.", Count, 0,
			`sum(max by (state) (relay_dlq_items{tier="SECURITY_BLOCK"}))`),
		number("Oldest review", "Age of the oldest dead letter that waits for a person.", Seconds, (4*time.Hour).Seconds(),
			`max(relay_dlq_oldest_seconds{tier="REVIEW_REQUIRED"})`),
		number("Oldest due in a work queue", "How long a job or a notification has been due that nobody has acted on.", Seconds, (5*time.Minute).Seconds(),
			"max(workqueue_overdue_seconds)"),
		number("Shares without an owner", "Outboxes, or shards of one, that no instance relays.", Count, 0,
			"count(sum by (share) (relay_lease_held) == 0) or vector(0)"),
		number("Listeners not proven alive", "Listeners whose canary is more than a minute overdue.", Count, 0,
			"count(max by (outbox, listener) (relay_listener_proof_overdue_seconds) > 60) or vector(0)"),
	)
}

// sla writes a duration the way people say it.
func sla(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

func chart(title, help string, unit Unit, queries ...Query) Panel {
	return Panel{Title: title, Help: help, Unit: unit, Queries: queries}
}

func quantile(q float64, by, metric string) string {
	return fmt.Sprintf("histogram_quantile(%g, sum by (%s, le) (rate(%s[5m])))", q, by, metric)
}

func lanePanels() []Panel {
	return []Panel{
		chart("Late records", "Share of records that are later than the lane's SLA, over 5 minutes and over 1 hour.", Share,
			Query{lateRatio("", "5m"), "{{lane}} 5 min"}, Query{lateRatio("", "1h"), "{{lane}} 1 h"}),
		chart("Lag, p50 and p99", "From append to acknowledgement.", Seconds,
			Query{quantile(.5, "lane", `relay_lag_seconds_bucket{outcome="acked"}`), "{{lane}} p50"},
			Query{quantile(.99, "lane", `relay_lag_seconds_bucket{outcome="acked"}`), "{{lane}} p99"}),
		chart("Where the lag goes, p99", "Waiting in Firestore, in the lane, in delivery, in backoff.", Seconds,
			Query{quantile(.99, "lane, stage", "relay_lag_stage_seconds_bucket"), "{{lane}} {{stage}}"}),
		chart("Delivered", "Records that every target acknowledged.", PerSecond,
			Query{"sum by (lane) (rate(relay_lane_done_total[5m]))", "{{lane}}"}),
		chart("Oldest record that waits", "In memory or behind a target that is down.", Seconds,
			Query{"max by (lane) (relay_oldest_waiting_seconds)", "{{lane}}"}),
		chart("In the lane", "Queued, running, or waiting for a retry.", Count,
			Query{"sum by (lane, state) (relay_lane_tasks)", "{{lane}} {{state}}"}, Query{"max by (lane) (relay_lane_paused)", "{{lane}} paused"}),
	}
}

func outboxPanels() []Panel {
	return []Panel{
		chart("Records read", "Records taken into memory.", PerSecond,
			Query{"sum by (outbox) (rate(relay_records_total[5m]))", "{{outbox}}"}),
		chart("Pending and left behind", "Pending in Firestore at the last sweep; of these, left behind targets that are down or aggregates that fail.", Count,
			Query{"sum by (outbox) (relay_pending_records)", "{{outbox}} pending"}, Query{"sum by (outbox) (relay_left_behind_records)", "{{outbox}} left behind"}),
		chart("Canary round trip, p99", "How long a listener takes to tell of a change.", Seconds,
			Query{quantile(.99, "outbox", "relay_canary_seconds_bucket"), "{{outbox}}"}),
		chart("Listeners rebuilt", "By reason. A listener is recycled every 30 minutes, which is no fault.", PerSecond,
			Query{"sum by (reason) (rate(relay_listener_rebuilds_total[5m]))", "{{reason}}"}),
		chart("Found by the sweep", "What no listener told of.", PerSecond,
			Query{"sum by (outbox, found) (rate(relay_sweep_found_total[5m]))", "{{outbox}} {{found}}"},
			Query{"sum by (outbox) (rate(relay_sweep_errors_total[5m]))", "{{outbox}} failed sweeps"}),
		chart("Producers against the catalog", "Records whose lane or tier is not the catalog's; the catalog wins.", PerSecond,
			Query{"sum by (outbox, field) (rate(relay_catalog_disagreements_total[5m]))", "{{outbox}} {{field}}"}),
	}
}

func targetPanels() []Panel {
	return []Panel{
		chart("Attempts", "By target and outcome.", PerSecond,
			Query{"sum by (target, outcome) (rate(relay_delivery_attempts_total[5m]))", "{{target}} {{outcome}}"}),
		chart("Breakers", "0 closed, 1 half-open, 2 open.", Count, Query{"max by (target) (relay_breaker_state)", "{{target}}"}),
		chart("Waiting for a target", "Records behind an open breaker.", Count, Query{"sum by (target) (relay_target_waiting_records)", "{{target}}"}),
		chart("Lag, p99", "From append to acknowledgement.", Seconds,
			Query{quantile(.99, "target", `relay_lag_seconds_bucket{outcome="acked"}`), "{{target}}"}),
		chart("Pub/Sub messages not acknowledged", "By topic.", PerSecond,
			Query{`sum by (topic, result) (rate(relay_pubsub_messages_total{result=~"failed|behind"}[5m]))`, "{{topic}} {{result}}"}),
	}
}

func deadLetterPanels() []Panel {
	return []Panel{
		chart("Dying", "Records that become dead letters, by reason.", PerSecond,
			Query{"sum by (outbox, reason) (rate(relay_dead_letters_total[5m]))", "{{outbox}} {{reason}}"}),
		chart("Open", "Dead letters that wait.", Count, Query{"max by (tier, state) (relay_dlq_items)", "{{tier}} {{state}}"}),
		chart("Oldest", "Age of the oldest that waits.", Seconds, Query{"max by (tier, state) (relay_dlq_oldest_seconds)", "{{tier}} {{state}}"}),
		chart("Replays", "Rounds of replays, by what became of them.", PerSecond,
			Query{"sum by (tier, outcome) (rate(relay_dlq_replay_rounds_total[5m]))", "{{tier}} {{outcome}}"}),
		chart("Frozen aggregates", "Whose later records are held, or not let go on yet.", Count, Query{"max(relay_frozen_aggregates)", "frozen"}),
		chart("Bulk replays", "At work, and items they are through with.", Count,
			Query{"sum(relay_dlq_bulk_running)", "at work"}, Query{"sum by (outcome) (increase(relay_dlq_bulk_items_total[5m]))", "{{outcome}} in 5 min"}),
	}
}

func queuePanels() []Panel {
	return []Panel{
		chart("Closed", "Claims that ended, by what became of the document. Retry, returned and lost are no ends of it.", PerSecond,
			Query{"sum by (queue, outcome) (rate(workqueue_outcomes_total[5m]))", "{{queue}} {{outcome}}"}),
		chart("Due and not claimed", "For how long, of the document that waits the longest, as the last round found it.", Seconds,
			Query{"max by (queue) (workqueue_overdue_seconds)", "{{queue}}"}),
		chart("Failed and dead", "Documents that came to a bad end in 5 minutes: a person has to look.", Count,
			Query{`sum by (queue, outcome) (increase(workqueue_outcomes_total{outcome=~"failed|dead"}[5m]))`, "{{queue}} {{outcome}}"}),
		chart("Leases that ran out", "Documents that the last round found, and that were claimed again in 5 minutes.", Count,
			Query{"max by (queue) (workqueue_stale_documents)", "{{queue}} found"},
			Query{`sum by (queue) (increase(workqueue_claims_total{result="reclaimed"}[5m]))`, "{{queue}} claimed again"}),
		chart("From creation to its end, p50 and p99", "By the server's clock, waits between attempts included.", Seconds,
			Query{quantile(.5, "queue", "workqueue_latency_seconds_bucket"), "{{queue}} p50"},
			Query{quantile(.99, "queue", "workqueue_latency_seconds_bucket"), "{{queue}} p99"}),
		chart("Handling, p99", "Of one attempt. A lease holds for a minute.", Seconds,
			Query{quantile(.99, "queue", "workqueue_handle_seconds_bucket"), "{{queue}}"}),
		chart("Notifications written", "Into the bells of people.", PerSecond, Query{"sum(rate(notifications_written_total[5m]))", "written"}),
		chart("Documents read to find work", "About as Firestore bills them.", PerSecond,
			Query{"sum by (queue, by) (rate(workqueue_reads_total[5m]))", "{{queue}} {{by}}"}),
		chart("Errors of work queues", "Calls to Firestore that are tried again, and faults that were contained.", PerSecond,
			Query{"sum by (queue, part) (rate(workqueue_errors_total[5m]))", "{{queue}} {{part}}"},
			Query{"sum by (queue, part) (rate(workqueue_panics_total[5m]))", "{{queue}} {{part}} panic"}),
	}
}

func ownershipPanels() []Panel {
	return []Panel{
		chart("Owners", "Instances that own each share; 1 is right.", Count, Query{"sum by (share) (relay_lease_held)", "{{share}}"}),
		chart("Leases", "What happened to them. Lapsed and lost ones cost a pause.", PerSecond,
			Query{`sum by (event) (rate(relay_lease_events_total{event=~"taken|lapsed|recovered|lost|released|refused"}[5m]))`, "{{event}}"}),
		chart("Renewals, p99", "Duration of the commits that renew leases.", Seconds,
			Query{"histogram_quantile(0.99, sum by (le) (rate(relay_lease_renewal_seconds_bucket[5m])))", "p99"}),
		chart("Commits, p99", "Of marks, retries and dead letters, by lane.", Seconds,
			Query{quantile(.99, "lane", "relay_commit_seconds_bucket"), "{{lane}}"}),
		chart("Commits that failed", "Refused ones are resolved apart; failed ones are tried again.", PerSecond,
			Query{`sum by (lane, result) (rate(relay_commit_seconds_count{result=~"failed|refused"}[5m]))`, "{{lane}} {{result}}"}),
		chart("Not settled", "Records of an outbox whose outcome Firestore does not take.", Count, Query{"max by (outbox) (relay_unsettled_records)", "{{outbox}}"}),
		chart("Documents read", "About as Firestore bills them.", PerSecond,
			Query{"sum by (by) (rate(relay_reads_total[5m]))", "{{by}}"}, Query{"sum(rate(relay_settlements_total[5m]))", "records settled"}),
	}
}

func claimsPanels() []Panel {
	return []Panel{
		chart("Records", "Whose claims stand, by what they changed.", PerSecond, Query{"sum by (outcome) (rate(relay_claims_records_total[5m]))", "{{outcome}}"}),
		chart("Failures", "By code.", PerSecond, Query{"sum by (code) (rate(relay_claims_failures_total[5m]))", "{{code}}"}),
		chart("Steps, p99", "Waits for the rate limit included.", Seconds, Query{quantile(.99, "step", "relay_claims_step_seconds_bucket"), "{{step}}"}),
	}
}

func processPanels() []Panel {
	const relays = " and on (job, instance) group by (job, instance) (relay_lease_held)"
	return []Panel{
		chart("Requests to the admin API", "By class of their status.", PerSecond, Query{"sum by (class) (rate(relay_admin_requests_total[5m]))", "{{class}}"}),
		chart("Requests, p99", "By route.", Seconds, Query{quantile(.99, "route", "relay_admin_request_seconds_bucket"), "{{route}}"}),
		chart("Memory", "In use, and the limit that Go keeps to.", Bytes,
			Query{"process_resident_memory_bytes" + relays, "{{instance}} used"}, Query{"go_gc_gomemlimit_bytes < 1e15" + relays, "{{instance}} limit"}),
		chart("CPU", "Cores in use.", Count, Query{"rate(process_cpu_seconds_total[5m])" + relays, "{{instance}}"}),
		chart("Goroutines", "A steady rise is a leak.", Count, Query{"go_goroutines" + relays, "{{instance}}"}),
		chart("Lag samples lost", "Of those for the topic domain-metrics.", PerSecond,
			Query{`sum by (result) (rate(relay_lag_samples_total{result=~"overflowed|refused"}[5m]))`, "{{result}}"}),
	}
}
