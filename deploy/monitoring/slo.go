package monitoring

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"outboxrelay/contracts"
)

// Objective is what a lane promises: the share of its records that are delivered
// within its SLA, over 30 days.
type Objective struct {
	Lane   contracts.Lane
	SLA    time.Duration
	Target float64
}

// targets are the shares. What is left is the budget of records that may be late.
var targets = map[contracts.Lane]float64{
	contracts.CriticalLane:   .999,
	contracts.StandardLane:   .995,
	contracts.BackgroundLane: .99,
}

func objectivesOf(catalog *contracts.Catalog) []Objective {
	var all []Objective
	for _, lane := range contracts.Lanes() {
		all = append(all, Objective{lane, catalog.Lanes[lane].SLA, targets[lane]})
	}
	return all
}

// windows are those over which the share of late records is recorded.
var windows = []string{"5m", "30m", "1h", "2h", "6h", "1d", "3d"}

// burn is a rate at which a lane's budget is used up that somebody has to know
// of: as many times as fast as it would last for 30 days. The long window says
// that it is worth it, the short one that it goes on.
type burn struct {
	long, short string
	factor      float64
}

var (
	fastBurns = []burn{{"1h", "5m", 14.4}, {"6h", "30m", 6}}
	slowBurns = []burn{{"1d", "2h", 3}, {"3d", "6h", 1}}
)

// leastLate is how many records must have been late for a burn to be told. Of
// the few records of a quiet night one is a large share; that one is told of by
// RelayLaneStuck if it is not delivered at all.
const leastLate = 5

// What is late, and what there was: records that were delivered within a window,
// and those that are overdue now and not delivered. So a record that is stuck
// burns in every window for as long as it is. A dead letter is neither: it was
// told of in another way.
func lateRecords(selector, window string) string {
	return fmt.Sprintf("(sum by (lane) (increase(relay_lane_sla_breaches_total%s[%s])) + sum by (lane) (relay_overdue_records%s))", selector, window, selector)
}

func allRecords(selector, window string) string {
	return fmt.Sprintf("(sum by (lane) (increase(relay_lane_done_total%s[%s])) + sum by (lane) (relay_overdue_records%s))", selector, window, selector)
}

func lateRatio(selector, window string) string {
	return fmt.Sprintf("%s / (%s > 0)", lateRecords(selector, window), allRecords(selector, window))
}

// Names of what is recorded of a window.
func lateName(window string) string  { return "lane:relay_late_records:increase" + window }
func ratioName(window string) string { return "lane:relay_late_records:ratio" + window }

func recordings() []Recording {
	var all []Recording
	for _, w := range windows {
		all = append(all, Recording{lateName(w), lateRecords("", w)}, Recording{ratioName(w), lateRatio("", w)})
	}
	return all
}

// rule fires while a lane's budget burns at that rate, unless somebody paused
// the lane.
func (b burn) rule(o Objective, severity Severity) Rule {
	selector := fmt.Sprintf("{lane=%q}", o.Lane)
	most := strconv.FormatFloat(math.Round(b.factor*(1-o.Target)*1e6)/1e6, 'g', -1, 64)
	join := func(long, short, late string) string {
		return fmt.Sprintf("%s > %s and on (lane) %s > %s and on (lane) %s >= %d unless on (lane) (max by (lane) (relay_lane_paused) == 1)",
			long, most, short, most, late, leastLate)
	}
	return Rule{
		Expr: Expression{
			Recorded: join(ratioName(b.long)+selector, ratioName(b.short)+selector, lateName(b.long)+selector),
			Whole:    join(lateRatio(selector, b.long), lateRatio(selector, b.short), lateRecords(selector, b.long)),
		},
		Severity: severity,
		Title:    fmt.Sprintf("%s over %s", o.Lane, b.long),
		Labels:   map[string]string{"lane": string(o.Lane), "window": b.long},
	}
}

func burnRules(objectives []Objective, burns []burn, severity Severity) []Rule {
	var rules []Rule
	for _, o := range objectives {
		for _, b := range burns {
			rules = append(rules, b.rule(o, severity))
		}
	}
	return rules
}

// stuckAfter is how long one record may wait before somebody is told: as no
// retry takes that long, its target is down or something is wrong.
func (o Objective) stuckAfter() time.Duration { return max(5*time.Minute, 20*o.SLA) }
