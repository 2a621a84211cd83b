package monitoring

import (
	"fmt"
	"time"
)

// lookedLately keeps what an instance's own rounds told to those that go on: one whose
// rounds fail tells what it found last.
const lookedLately = " and time() - workqueue_last_round_timestamp_seconds < 600"

func queueAlerts() []Alert {
	overdue := func(most time.Duration, severity Severity) Rule {
		return Rule{
			Expr: expr(fmt.Sprintf("max by (queue) (workqueue_overdue_seconds%s) > %d", lookedLately, int(most.Seconds()))),
			For:  2 * time.Minute, Severity: severity, Title: fmt.Sprintf("for more than %.0f minutes", most.Minutes()),
		}
	}
	return []Alert{
		{
			Name: "RelayQueueNotWatched", Group: "relay-queues",
			Hurt:    "What is in a work queue waits: no instance has been able to look through it for ten minutes.",
			Summary: "{{ $labels.queue }}: no round has ended for {{ $value | humanizeDuration }}.",
			Rules: []Rule{{
				Expr: expr("time() - max by (queue) (workqueue_last_round_timestamp_seconds) > 600"), For: time.Minute, Severity: Critical,
			}},
		},
		{
			Name: "RelayQueueStuck", Group: "relay-queues",
			Hurt:    "Somebody is told too late, or not at all: a job or a notification has been due for minutes and nobody has acted on it.",
			Summary: "{{ $labels.queue }}: the document that waits the longest has been due for {{ $value | humanizeDuration }}.",
			Rules:   []Rule{overdue(5*time.Minute, Warning), overdue(30*time.Minute, Critical)},
		},
		{
			Name: "RelayQueueLocksStale", Group: "relay-queues",
			Hurt:    "Workers of a queue die or take longer than their lease: what they had in hand comes late, and jobs of channels that cannot tell whether they were sent are failed.",
			Summary: "{{ $labels.queue }}: {{ $value | printf `%.0f` }} documents outlived the lease of their worker.",
			Rules: []Rule{
				{
					Expr:     expr(`sum by (queue) (increase(workqueue_claims_total{result="reclaimed"}[30m])) >= 3`),
					Severity: Warning, Title: "claimed again",
				},
				{
					Expr: expr("max by (queue) (workqueue_stale_documents" + lookedLately + ") > 0"),
					For:  5 * time.Minute, Severity: Critical, Title: "and nobody claims them again",
				},
			},
		},
		{
			Name: "RelayQueueDeadLetters", Group: "relay-queues",
			Hurt:    "Somebody was not told, and will not be unless a person acts: jobs are failed or dead, or events of notifications failed.",
			Summary: "{{ $labels.queue }}: {{ $value | humanizePercentage }} of its documents end as failed or dead.",
			Rules:   []Rule{queueDeadShare("1h", "0", 0, Warning, "any"), queueDeadShare("15m", "0.2", leastDead, Critical, "more than 20 %")},
		},
	}
}

// queueDeadShare is that more than a share of what a queue closed in a window came to a
// bad end, so many at least.
func queueDeadShare(window, most string, least int, severity Severity, title string) Rule {
	closed := func(outcomes string) string {
		return fmt.Sprintf(`sum by (queue) (increase(workqueue_outcomes_total{outcome=~%q}[%s]))`, outcomes, window)
	}
	dead := closed("failed|dead")
	text := fmt.Sprintf("%s / %s > %s", dead, closed("sent|emitted|deduped|failed|dead"), most)
	if least > 0 {
		text += fmt.Sprintf(" and on (queue) %s >= %d", dead, least)
	}
	return Rule{Expr: expr(text), Severity: severity, Title: title}
}
