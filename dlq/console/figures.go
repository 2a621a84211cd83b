package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// laneFigures are one lane as pages show it.
type laneFigures struct {
	admin.Lane
	SLA      string
	P50, P99 string
	In, Out  string // a second, the mean of the last minute
	InMemory int    // what is in the lane in all
	Late     bool   // more than one in a hundred takes longer than the SLA
	Behind   bool   // what is in the lane is older than the SLA
	Beyond   string // share of the deliveries that were later than the SLA; "" for none
}

func figuresOf(l admin.Lane, all []sample) laneFigures {
	in, out := rates(all, l.Lane)
	f := laneFigures{
		Lane: l, SLA: lasting(time.Duration(l.SLAMillis) * time.Millisecond), P50: lagText(l.P50Millis), P99: lagText(l.P99Millis),
		In: rateText(in), Out: rateText(out), InMemory: l.Queued + l.InFlight + l.Waiting, Late: l.P99Millis > l.SLAMillis, Behind: l.Overdue > 0,
	}
	if l.Breaches > 0 && l.Delivered > 0 {
		f.Beyond = fmt.Sprintf("%s of %s", thousands(l.Breaches), thousands(l.Delivered))
	}
	return f
}

// outboxesOf lists the outboxes with events in a lane, and targetsOf where these
// are delivered to.
func outboxesOf(c *contracts.Catalog, lane contracts.Lane) []string {
	return ofLane(c, lane, func(o *contracts.Outbox, _ *contracts.EventRoute) []string { return []string{o.Name} })
}

func targetsOf(c *contracts.Catalog, lane contracts.Lane) []string {
	return ofLane(c, lane, func(_ *contracts.Outbox, e *contracts.EventRoute) []string { return e.Targets })
}

func ofLane(c *contracts.Catalog, lane contracts.Lane, names func(*contracts.Outbox, *contracts.EventRoute) []string) []string {
	var out []string
	seen := make(map[string]bool)
	for _, o := range c.Outboxes {
		for _, e := range o.Events {
			if e.Lane != lane {
				continue
			}
			for _, name := range names(o, e) {
				if !seen[name] {
					seen[name] = true
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// lasting says how long something takes, in one unit.
func lasting(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	case d < 2*time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	case d < 2*time.Hour:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	}
	return strconv.FormatFloat(d.Hours(), 'f', 0, 64) + " h"
}

// unknown stands for a number that nobody knows.
const unknown = "–"

func lagText(millis int64) string {
	if millis == 0 {
		return unknown
	}
	return lasting(time.Duration(millis) * time.Millisecond)
}

func rateText(rate *float64) string {
	switch {
	case rate == nil:
		return unknown
	case *rate == 0:
		return "0/s"
	case *rate < 0.1:
		return "< 0.1/s"
	case *rate < 10:
		return strconv.FormatFloat(*rate, 'f', 1, 64) + "/s"
	}
	return thousands(int64(*rate+0.5)) + "/s"
}

// thousands writes a number so that its size is seen. n is an integer, or points
// to one.
func thousands(n any) string {
	if p, ok := n.(*int64); ok {
		n = *p
	}
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// howMany is plural, for numbers that may be large.
func howMany(n any, one, many string) string {
	if text := thousands(n); text != "1" {
		return text + " " + many
	}
	return "1 " + one
}
