package cost

import (
	"fmt"
	"math"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// The tables of docs/SIZING.md stand between these.
const (
	tablesBegin = "<!-- tables: written by go generate ./cmd/outbox-relay/cost -->"
	tablesEnd   = "<!-- end of tables -->"
)

// sizingRates are those of the tables.
var sizingRates = []float64{10, 100, 1000, 10_000}

// WriteTables puts the page's numbers where they belong.
func WriteTables(page string) (string, error) {
	for _, part := range []struct {
		begin, end string
		tables     func() (string, error)
	}{{scaleBegin, scaleEnd, scaleTables}, {queuesBegin, queuesEnd, queueTables}, {tablesBegin, tablesEnd, sizingTables}} {
		before, rest, ok := strings.Cut(page, part.begin)
		_, after, ended := strings.Cut(rest, part.end)
		if !ok || !ended {
			return "", fmt.Errorf("write tables: the page lacks the marks %q and %q", part.begin, part.end)
		}
		tables, err := part.tables()
		if err != nil {
			return "", fmt.Errorf("write tables: %w", err)
		}
		page = before + part.begin + "\n" + tables + part.end + after
	}
	return page, nil
}

// Default is the workload of the command's defaults at a rate.
func Default(c *contracts.Catalog, p *Prices, rate float64) *Workload {
	return &Workload{
		Catalog: c, Rate: rate, Payload: 1 << 10, FanOut: OfCatalog, Claims: OfCatalog, Failing: 0.001, Dead: 0.00001, Queues: NoQueues(),
		Subscriptions: 1, CPU: 1, Schedule: NewSchedule(relay.Tuning{}, 0), Prices: p, Region: "europe-west1",
	}
}

func sizingTables() (string, error) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		return "", err
	}
	prices, err := BuiltInPrices()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, on := range []contracts.OnDelivered{contracts.MarkDelivered, contracts.DeleteDelivered} {
		var all []*Estimate
		for _, rate := range sizingRates {
			w := Default(catalog, prices, rate)
			w.OnDelivered = on
			e, err := New(w)
			if err != nil {
				return "", err
			}
			all = append(all, e)
		}
		fmt.Fprintf(&out, "\n**`onDelivered: %s`**, a month in %s at the list prices of %s:\n\n", on, all[0].Region, prices.Date)
		writeTable(&out, all, prices.Currency)
	}
	out.WriteByte('\n')
	return out.String(), nil
}

func writeTable(out *strings.Builder, all []*Estimate, currency string) {
	row := func(title string, cell func(*Estimate) string) {
		fmt.Fprintf(out, "| %s |", title)
		for _, e := range all {
			fmt.Fprintf(out, " %s |", cell(e))
		}
		out.WriteByte('\n')
	}
	row("records a second", func(e *Estimate) string { return number(e.Rate) })
	out.WriteString("|---|" + strings.Repeat("---:|", len(all)) + "\n")
	for _, a := range articles {
		if quantity, _ := all[0].sum(a); quantity == 0 {
			continue
		}
		row(titles[a]+", "+units[a].name, func(e *Estimate) string {
			quantity, cost := e.sum(a)
			return fmt.Sprintf("%s (%s)", number(quantity), money(cost))
		})
	}
	row("**"+currency+" a month**", func(e *Estimate) string { return "**" + money(e.Total) + "**" })
	row(currency+" per million records", func(e *Estimate) string { return money(e.PerMillion) })
	row(currency+" a month with no record at all", func(e *Estimate) string { return money(e.Idle) })
	row("instances of 1 CPU", func(e *Estimate) string { return fmt.Sprint(e.Compute.Instances) })
	row("memory of one, GiB", func(e *Estimate) string { return number(e.Compute.Memory) })
	row("shards of the busiest outbox", func(e *Estimate) string {
		most := 0
		for _, s := range e.Shards {
			most = max(most, s.Needed)
		}
		return fmt.Sprint(most)
	})
	row("records/s of one aggregate, at most", func(e *Estimate) string { return number(math.Floor(e.KeyRate())) })
}

// sum is how much of an article there is, and what it costs.
func (e *Estimate) sum(a Article) (quantity, cost float64) {
	for _, l := range e.Lines {
		if l.Article == a {
			quantity += l.Quantity
			cost += l.Cost
		}
	}
	return quantity, cost
}
