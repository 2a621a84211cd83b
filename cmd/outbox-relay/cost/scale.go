package cost

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// The numbers of the page's section on scale stand between these.
const (
	scaleBegin = "<!-- scale: written by go generate ./cmd/outbox-relay/cost -->"
	scaleEnd   = "<!-- end of scale -->"
)

// scaleTables are how far a relay scales, in numbers.
func scaleTables() (string, error) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		return "", err
	}
	prices, err := BuiltInPrices()
	if err != nil {
		return "", err
	}
	var all []*Estimate
	for _, rate := range []float64{1_000, 10_000} {
		e, err := New(Default(catalog, prices, rate))
		if err != nil {
			return "", err
		}
		all = append(all, e)
	}
	var out strings.Builder
	writeProcessor(&out)
	writeTraffic(&out, all[len(all)-1])
	writeBounds(&out, catalog, all[len(all)-1])
	writeNeeds(&out, all)
	if err := writeRuns(&out, catalog, prices); err != nil {
		return "", err
	}
	return out.String(), nil
}

// heading begins a table whose columns but the first are numbers.
func heading(out *strings.Builder, title string, columns ...string) {
	fmt.Fprintf(out, "\n%s\n\n", title)
	line(out, columns...)
	out.WriteString("|---|" + strings.Repeat("---:|", len(columns)-1) + "\n")
}

func line(out *strings.Builder, cells ...string) {
	out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// significant is a number with two digits that matter.
func significant(v float64) string {
	scale := math.Pow(10, math.Floor(math.Log10(v))-1)
	return number(math.Round(v/scale) * scale)
}

func writeProcessor(out *strings.Builder) {
	heading(out, "**One vCPU.**", "processor time of a record", "µs", "records/s of a vCPU")
	for _, m := range measuredCPU {
		sum := 0.0
		var rounds []string
		for _, micros := range m.micros {
			sum += micros
			rounds = append(rounds, number(micros))
		}
		line(out, m.what, strings.Join(rounds, " / "), significant(1e6*float64(len(m.micros))/sum))
	}
	line(out, "planned with, and half of the vCPU left free", number(cpuOfRecord*1e6), "**"+number(utilisation/cpuOfRecord)+"**")
}

func writeTraffic(out *strings.Builder, e *Estimate) {
	t, targets := e.Traffic, e.FanOut+e.Claims
	heading(out, fmt.Sprintf("**The network**, for a payload of %s.", size(e.Payload)), "bytes of a record", "bytes", fmt.Sprintf("MB/s at %s/s", number(e.Rate)))
	for _, part := range []struct {
		what  string
		bytes float64
	}{
		{"read from Firestore: its document, once", t.Read},
		{fmt.Sprintf("published: its envelope and attributes, to %s topics", number(e.FanOut)), t.Published},
		{"marked: its document's name and four fields", t.Marked},
		{fmt.Sprintf("lag samples, for %s targets", number(targets)), t.Sampled},
		{"**together**", t.Sum()},
	} {
		line(out, part.what, number(math.Round(part.bytes)), number(part.bytes*e.Rate/1e6))
	}
}

func writeBounds(out *strings.Builder, c *contracts.Catalog, e *Estimate) {
	heading(out, "**What bounds a part of it**, in records/s.", "", "records/s", "because of")
	sequence := fmt.Sprintf("%d writes/s to a sequence of the lanes' index", SequentialWrites)
	line(out, "a lane of an outbox, as its records come", number(RecordsOfSequence), fmt.Sprintf("%s, of which a record takes %d", sequence, writesOfRecord))
	line(out, "a lane of an outbox, a backlog", number(SequentialWrites), "the same, for the mark alone")
	for _, shards := range []int{2, 4, 8, maxShards} {
		line(out, fmt.Sprintf("a lane of an outbox of %d shards, as they come", shards), number(float64(shards*RecordsOfSequence)), "each shard and lane is a sequence of its own")
	}
	line(out, "one aggregate", number(math.Floor(e.KeyRate())), "1 MB/s for an ordering key of Pub/Sub")
	line(out, "one instance of a vCPU", number(utilisation/cpuOfRecord), "processor time, as above")
	for _, lane := range contracts.Lanes() {
		workers := c.Lanes[lane].Workers
		line(out, fmt.Sprintf("%s of one instance, no two records of one aggregate", lane), number(carries(workers)),
			fmt.Sprintf("%d workers, %d ms a publish", workers, PublishTime.Milliseconds()))
	}
	t := relay.DefaultTuning()
	line(out, "a lane of one instance, settled", number(float64(t.Commits*t.CommitSize)/CommitTime.Seconds()),
		fmt.Sprintf("%d commits of %d records under way, %d ms each", t.Commits, t.CommitSize, CommitTime.Milliseconds()))
}

func writeNeeds(out *strings.Builder, all []*Estimate) {
	columns := []string{"records a second, over all outboxes"}
	for _, e := range all {
		columns = append(columns, number(e.Rate))
	}
	heading(out, "**What a rate needs**, of the built-in catalog, its outboxes with the same rate each.", columns...)
	row := func(what string, cell func(*Estimate) string) {
		cells := []string{what}
		for _, e := range all {
			cells = append(cells, cell(e))
		}
		line(out, cells...)
	}
	row("busy vCPUs", func(e *Estimate) string { return number(e.Compute.Processors) })
	row("instances of 1 vCPU", func(e *Estimate) string { return strconv.Itoa(e.Compute.Instances) })
	row("memory of one, GiB", func(e *Estimate) string { return number(e.Compute.Memory) })
	for n, s := range all[0].Shards {
		row("`shards` of "+s.Outbox, func(e *Estimate) string { return strconv.Itoa(e.Shards[n].Needed) })
	}
	for n, l := range all[0].Lanes {
		row(fmt.Sprintf("`workers` of %s, declared %d", l.Lane, l.Workers), func(e *Estimate) string { return strconv.Itoa(e.Lanes[n].WorkersNeeded) })
	}
	for n, l := range all[0].Lanes {
		row(fmt.Sprintf("`inFlight` of %s, declared %d", l.Lane, l.InFlight), func(e *Estimate) string { return strconv.Itoa(e.Lanes[n].InFlightNeeded) })
	}
	row("listeners of all instances", func(e *Estimate) string { return strconv.Itoa(e.Listeners) })
	row("of one, while another is gone", func(e *Estimate) string {
		return strconv.Itoa(int(math.Ceil(float64(e.Listeners) / float64(max(1, e.Compute.Instances-1)))))
	})
	row("Firestore writes/s", func(e *Estimate) string { return perSecond(e, FirestoreWrites) })
	row("Firestore reads/s", func(e *Estimate) string { return perSecond(e, FirestoreReads) })
	row("Pub/Sub, published MB/s", func(e *Estimate) string { return number((e.Traffic.Published + e.Traffic.Sampled) * e.Rate / 1e6) })
	row("minutes of ramp, from an empty collection", func(e *Estimate) string { return strconv.Itoa(ramp(e)) })
}

func perSecond(e *Estimate, a Article) string {
	quantity, _ := e.sum(a)
	return significant(quantity * units[a].size / secondsOfMonth)
}

// ramp is how many minutes Firestore asks for until the busiest collection takes
// its operations: those that it reads, and those that it writes.
func ramp(e *Estimate) int {
	const first, more, every = 500, 1.5, 5
	rates := make(map[string]float64)
	for _, f := range e.Flows {
		rates[f.Outbox] += f.Rate
	}
	busiest := 0.0
	for _, rate := range rates {
		busiest = max(busiest, rate)
	}
	of := Append().Plus(Delivered(contracts.MarkDelivered, 0))
	steps := math.Ceil(math.Log(busiest*(of.Reads+of.Writes)/first) / math.Log(more))
	return every * int(max(0, steps))
}

func writeRuns(out *strings.Builder, c *contracts.Catalog, p *Prices) error {
	heading(out, fmt.Sprintf("**Simulated**, %v seconds of producers.", RunFor.Seconds()), "what it has", "records/s", "shards", "instances", "workers, by lane", "behind at the end")
	for _, r := range Runs() {
		needs, err := r.Needs(c, p)
		if err != nil {
			return err
		}
		shards := 0
		for _, s := range needs.Shards {
			if r.Outbox == "" || s.Outbox == r.Outbox {
				shards += Has(r.Shards, s.Needed)
			}
		}
		var workers []string
		for _, l := range needs.Lanes {
			workers = append(workers, strconv.Itoa(Has(r.Workers, l.WorkersNeeded)))
		}
		behind := number(r.Behind.Seconds()) + " s"
		if r.Suffices() {
			behind = "at most " + behind
		}
		line(out, r.has(), number(r.Rate)+r.of(), strconv.Itoa(shards), strconv.Itoa(Has(r.Instances, needs.Compute.Instances)),
			strings.Join(workers, " / "), behind)
	}
	return nil
}

// has says in words what a run has.
func (r Run) has() string {
	switch {
	case r.Shards < 1:
		return "half of the shards"
	case r.Instances < 1:
		return "half of the instances"
	case r.Workers < 1:
		return "half of the workers"
	}
	return "what is needed"
}

func (r Run) of() string {
	if r.Outbox == "" {
		return ""
	}
	return ", " + r.Outbox
}
