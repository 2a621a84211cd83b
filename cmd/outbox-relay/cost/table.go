package cost

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// titles are the articles in words.
var titles = map[Article]string{
	FirestoreReads: "Firestore reads", FirestoreWrites: "Firestore writes", FirestoreDeletes: "Firestore deletes",
	FirestoreExpired: "Firestore TTL deletes", FirestoreStorage: "Firestore storage", PubSubThroughput: "Pub/Sub throughput",
	RunCPU: "Cloud Run CPU", RunMemory: "Cloud Run memory", Logging: "Cloud Logging",
}

// Print writes the estimate as tables.
func (e *Estimate) Print(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s records/s of %s payload, %s targets each, %.2g %% role and policy changes; messages of %s, documents of %s with indexes\n",
		number(e.Rate), size(e.Payload), number(e.FanOut), 100*e.Claims, size(e.Message), size(e.Document))
	fmt.Fprintf(&out, "list prices of %s in %s, %s\n\n", e.Prices.Date, e.Region, e.Prices.Currency)

	rows := [][]string{{"a month", "", "quantity", "unit", e.Prices.Currency, e.Prices.Currency + " per million records", "quantity is"}}
	for _, l := range e.Lines {
		million := money(l.Million)
		if l.Queue {
			million = ""
		}
		rows = append(rows, []string{titles[l.Article], l.What, number(l.Quantity), l.Unit, money(l.Cost), million, string(l.Basis)})
	}
	rows = append(rows, []string{"total", "", "", "", money(e.Total), money(e.PerMillion), ""}, []string{"", "of that with no record at all", "", "", money(e.Idle), "", ""})
	align(&out, rows, "llrlrrl")
	fmt.Fprintf(&out, "\ninstances  %d with %v CPU and %v GiB; %.2g processors are busy, %.2g GiB is the peak of one while another is gone\n",
		e.Compute.Instances, e.Compute.CPU, e.Compute.Memory, e.Compute.Processors, e.Compute.Peak)
	fmt.Fprintf(&out, "one aggregate may have %s records/s: Pub/Sub takes 1 MB/s for an ordering key\n\n", number(math.Floor(e.KeyRate())))

	if len(e.Queues) > 0 {
		rows = [][]string{{"work queue", "a second", "", "reads", "writes", "TTL", e.Prices.Currency + " per million, without storage"}}
		for _, q := range e.Queues {
			rows = append(rows, []string{q.Queue, number(q.Rate), q.Of, number(q.Each.Reads), number(q.Each.Writes), number(q.Each.Expired), money(q.Million)})
		}
		align(&out, rows, "lrlrrrr")
		out.WriteByte('\n')
	}
	rows = [][]string{{"outbox", "busiest lane", "index writes/s", "shards declared", "needed"}}
	for _, s := range e.Shards {
		rows = append(rows, []string{s.Outbox, string(s.Lane), number(s.Writes), strconv.Itoa(s.Declared), strconv.Itoa(s.Needed)})
	}
	align(&out, rows, "llrrr")
	out.WriteByte('\n')

	rows = [][]string{{"lane", "records/s", "workers declared", "needed", "inFlight declared", "needed"}}
	for _, l := range e.Lanes {
		rows = append(rows, []string{
			string(l.Lane), number(l.Rate), strconv.Itoa(l.Workers), strconv.Itoa(l.WorkersNeeded), strconv.Itoa(l.InFlight), strconv.Itoa(l.InFlightNeeded),
		})
	}
	align(&out, rows, "lrrrrr")
	for _, warning := range e.Warnings {
		fmt.Fprintf(&out, "\nnote: %s", warning)
	}
	if len(e.Warnings) > 0 {
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// align writes rows in columns, of which sides says l for left or r for right.
func align(out *strings.Builder, rows [][]string, sides string) {
	widths := make([]int, len(sides))
	for _, row := range rows {
		for n, cell := range row {
			widths[n] = max(widths[n], len(cell))
		}
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for n, cell := range row {
			pad := strings.Repeat(" ", widths[n]-len(cell))
			if cells[n] = cell + pad; sides[n] == 'r' {
				cells[n] = pad + cell
			}
		}
		out.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
	}
}

// number writes three digits that matter, and groups thousands.
func number(v float64) string {
	abs := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case abs < 1000:
		return strconv.FormatFloat(rounded(v), 'f', -1, 64)
	}
	digits := strconv.FormatFloat(math.Round(abs), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if v < 0 {
		return "-" + digits
	}
	return digits
}

func rounded(v float64) float64 {
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func money(v float64) string {
	if math.Abs(v) >= 1000 {
		return number(v)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// size writes bytes.
func size(bytes float64) string {
	switch {
	case bytes >= mebibyte:
		return number(bytes/mebibyte) + " MiB"
	case bytes >= 1024:
		return number(bytes/1024) + " KiB"
	}
	return number(bytes) + " B"
}
