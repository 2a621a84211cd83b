package monitoring

import (
	"fmt"
	"time"
)

func deadLetterAlerts() []Alert {
	reviewWaits := func(most time.Duration, severity Severity) Rule {
		return Rule{
			Expr:     expr(fmt.Sprintf(`max(relay_dlq_oldest_seconds{tier="REVIEW_REQUIRED"}) > %d`, int(most.Seconds()))),
			Severity: severity, Title: fmt.Sprintf("for more than %.0f hours", most.Hours()),
		}
	}
	return []Alert{
		{
			Name: "RelaySecurityBlock", Group: "relay-dead-letters",
			Hurt:    "The rights of an account are not what they should be: a role or policy change could not be carried out, and the account's later events are held.",
			Summary: "{{ $value }} SECURITY_BLOCK dead letters are {{ $labels.state }}.",
			Rules:   []Rule{{Expr: expr(`max by (state) (relay_dlq_items{tier="SECURITY_BLOCK"}) > 0`), Severity: Critical}},
		},
		{
			Name: "RelayAggregateFrozen", Group: "relay-dead-letters",
			Hurt:    "All later events of a frozen aggregate are held, from every outbox, until somebody with the security role releases it.",
			Summary: "{{ $value }} aggregates have been frozen, or not let go on, for more than an hour.",
			Rules:   []Rule{{Expr: expr("max(relay_frozen_aggregates) > 0"), For: time.Hour, Severity: Warning}},
		},
		{
			Name: "RelayReviewQueueOld", Group: "relay-dead-letters",
			Hurt:    "Events that only a person may replay or discard wait for that person.",
			Summary: "The oldest dead letter that awaits review is {{ $value | humanizeDuration }} old.",
			Rules:   []Rule{reviewWaits(4*time.Hour, Warning), reviewWaits(24*time.Hour, Critical)},
		},
		{
			Name: "RelayDeadLetterRate", Group: "relay-dead-letters",
			Hurt:    "Consumers miss events of an outbox: more of its records than usual end as dead letters.",
			Summary: "{{ $labels.outbox }}: {{ $value | humanizePercentage }} of its records end as dead letters.",
			Rules:   []Rule{deadLetterShare("0.01", Warning, "more than 1 %"), deadLetterShare("0.2", Critical, "more than 20 %")},
		},
		{
			Name: "RelayBulkReplayStopped", Group: "relay-dead-letters",
			Hurt:    "A bulk replay stopped by itself, since too many of its replays failed; what it was to replay is still not delivered.",
			Summary: "{{ $value | printf `%.0f` }} bulk replays stopped by themselves within the last hour.",
			Rules:   []Rule{{Expr: expr(`sum(increase(relay_dlq_bulk_ends_total{state="stopped"}[1h])) > 0`), Severity: Warning}},
		},
	}
}

// leastDead is how many dead letters there must have been for their share to be
// told.
const leastDead = 5

func deadLetterShare(most string, severity Severity, title string) Rule {
	const dead = "sum by (outbox) (increase(relay_dead_letters_total[15m]))"
	return Rule{
		Expr: expr(fmt.Sprintf(`%s / (%s + sum by (outbox) (increase(relay_settlements_total{kind="delivered"}[15m]))) > %s and on (outbox) %s >= %d`,
			dead, dead, most, dead, leastDead)),
		Severity: severity, Title: title,
	}
}

func processAlerts() []Alert {
	const errors = `sum by (route) (increase(relay_admin_requests_total{class="5xx"}[10m]))`
	return []Alert{
		{
			Name: "RelayAdminErrors", Group: "relay-process",
			Hurt:    "Operators cannot look at dead letters or decide about them: the admin API fails, and the console with it. Deliveries are not touched.",
			Summary: "{{ $labels.route }}: {{ $value | humanizePercentage }} of the requests fail.",
			Rules: []Rule{{
				Expr: expr(errors + " / (sum by (route) (increase(relay_admin_requests_total[10m])) > 0) > 0.05 and on (route) " + errors + " >= 3"),
				For:  2 * time.Minute, Severity: Warning,
			}},
		},
		{
			Name: "RelayMemoryHigh", Group: "relay-process",
			Hurt:    "An instance is about to be killed for its memory; its outboxes would wait for one lease term, and some events would come twice.",
			Summary: "{{ $labels.instance }} uses {{ $value | humanizePercentage }} of its memory limit.",
			Rules: []Rule{{
				Expr: expr("process_resident_memory_bytes / go_gc_gomemlimit_bytes > 0.95 and on (job, instance) group by (job, instance) (relay_lease_held)"),
				For:  10 * time.Minute, Severity: Warning,
			}},
		},
		{
			Name: "RelayReadsDrift", Group: "relay-process",
			Hurt:    "Nobody waits, but Firestore's bill grows: the relay reads far more documents than it settles.",
			Summary: "{{ $value | humanize }} documents were read in an hour, more than the records explain.",
			Rules: []Rule{{
				// A record costs 1 to 2 reads; each share some 2,500 an hour while it is idle.
				Expr: expr("sum(increase(relay_reads_total[1h])) > 4 * sum(increase(relay_settlements_total[1h])) + 5000 * count(count by (share) (relay_lease_held)) + 50000"),
				For:  15 * time.Minute, Severity: Warning,
			}},
		},
	}
}
