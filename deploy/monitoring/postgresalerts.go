package monitoring

import "time"

// manyParked is more rows than a single bad event explains.
const manyParked = "10"

// postgresAlerts are of the outbox in Postgres. What it has in common with the others, a lane that is
// stuck, a breaker that is open, marks that fail, is told by their alerts.
func postgresAlerts() []Alert {
	parked := func(most string, severity Severity, title string) Rule {
		return Rule{Expr: expr("max by (outbox) (relay_parked_records) > " + most), For: 2 * time.Minute, Severity: severity, Title: title}
	}
	return []Alert{
		{
			Name: "RelayRowsParked", Group: "relay-postgres",
			Hurt:    "Consumers miss events of some aggregates: a row was refused as often as it may be, and the later ones of its aggregate wait behind it.",
			Summary: "{{ $labels.outbox }}: {{ $value | printf `%.0f` }} rows are parked.",
			Rules:   []Rule{parked("0", Warning, "any"), parked(manyParked, Critical, "more than "+manyParked)},
		},
		{
			Name: "RelayTableNotRead", Group: "relay-postgres",
			Hurt:    "No event of the outbox in Postgres is delivered: its publishers cannot read the table. Nothing is lost.",
			Summary: "{{ $labels.outbox }}: {{ $value | printf `%.0f` }} rounds failed in three minutes, and none read a row.",
			Rules: []Rule{{
				Expr: expr(`sum by (outbox) (increase(relay_read_errors_total{outbox="outbox_events"}[3m])) >= 3` +
					` unless sum by (outbox) (increase(relay_records_total{outbox="outbox_events"}[3m])) > 0`),
				For: 5 * time.Minute, Severity: Critical,
			}},
		},
	}
}

func postgresPanels() []Panel {
	return []Panel{
		chart("Rows parked", "Refused as often as they may be: each holds back its aggregate until somebody decides.", Count,
			Query{"max by (outbox) (relay_parked_records)", "{{outbox}}"}),
		chart("Rounds that the database failed", "In 5 minutes.", Count,
			Query{`sum by (outbox) (increase(relay_read_errors_total{outbox="outbox_events"}[5m]))`, "{{outbox}}"}),
	}
}
