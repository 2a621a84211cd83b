package demo

import (
	"fmt"
	"strings"

	"outboxrelay/contracts"
)

// Queue is how many records stand in the dead-letter queue, and behind it.
type Queue struct {
	Open      map[contracts.Tier]int64 // dead letters that wait for somebody
	Discarded int64                    // dead letters that were given up
	Frozen    int64                    // aggregates
	Held      int64                    // records of frozen aggregates
}

// Dead is how many dead letters were not delivered.
func (q Queue) Dead() int64 {
	n := q.Discarded
	for _, open := range q.Open {
		n += open
	}
	return n
}

// Undelivered is how many records are accounted for without a delivery.
func (q Queue) Undelivered() int64 { return q.Dead() + q.Held }

// Note tells an onlooker what stands there; "" when nothing does.
func (q Queue) Note() string {
	var parts []string
	for _, tier := range contracts.Tiers() {
		if n := q.Open[tier]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, tier))
		}
	}
	if len(parts) == 0 && q.Frozen == 0 {
		return ""
	}
	note := "dead letters: " + orNone(strings.Join(parts, ", "))
	if q.Frozen > 0 {
		note += fmt.Sprintf("; frozen aggregates: %d, records held: %d", q.Frozen, q.Held)
	}
	return note
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
