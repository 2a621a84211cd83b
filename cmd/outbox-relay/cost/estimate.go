package cost

import (
	"fmt"
	"math"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/requirements"
)

// Basis is where a quantity is from. Prices are published, all of them.
type Basis string

// The bases.
const (
	Measured  Basis = "measured"  // against the embedded server's bill, or by the benchmark
	Published Basis = "published" // by Google
	Assumed   Basis = "assumed"
)

// Line is one thing that is paid for.
type Line struct {
	Article  Article `json:"article"`
	What     string  `json:"what"`
	Quantity float64 `json:"quantityPerMonth"` // in Unit
	Unit     string  `json:"unit"`
	Cost     float64 `json:"costPerMonth"`
	Million  float64 `json:"costPerMillionRecords"` // 0 for what is a work queue's
	Basis    Basis   `json:"basis"`
	Queue    bool    `json:"workQueues,omitempty"` // it is for the work queues
}

// Estimate is what a workload costs in a month, and what it needs.
type Estimate struct {
	Rate       float64     `json:"recordsPerSecond"`
	Payload    float64     `json:"payloadBytes"`
	FanOut     float64     `json:"targetsPerRecord"`
	Claims     float64     `json:"roleChangesShare"`
	Message    float64     `json:"messageBytes"`
	Document   float64     `json:"documentBytes"` // with its index entries
	Traffic    Traffic     `json:"trafficBytesPerRecord"`
	Region     string      `json:"region"`
	Prices     *Prices     `json:"prices"`
	Lines      []Line      `json:"lines"`
	Total      float64     `json:"costPerMonth"`
	PerMillion float64     `json:"costPerMillionRecords"` // the work queues apart
	Idle       float64     `json:"costOfIdlePerMonth"`    // of that: Firestore without any record, and instances
	Compute    Compute     `json:"compute"`
	Shards     []Shards    `json:"shards"`
	Lanes      []Lane      `json:"lanes"`
	Listeners  int         `json:"listeners"` // of all instances together
	Flows      []Flow      `json:"flows"`
	Queues     []QueueCost `json:"queues"` // work queues that are served
	Warnings   []string    `json:"warnings"`
}

// part is what one cause costs on Firestore in a second.
type part struct {
	what  string
	ops   Operations
	basis Basis
	idle  bool
}

// New estimates. The workload must be valid.
func New(w *Workload) (*Estimate, error) {
	prices, err := w.Prices.In(w.Region)
	if err != nil {
		return nil, err
	}
	declared := w.catalog()
	m, err := newMix(declared, w.Rate, w.Split)
	if err != nil {
		return nil, err
	}
	if w.FanOut != OfCatalog {
		m.topics = w.FanOut
	}
	if w.Claims != OfCatalog {
		m.claims = w.Claims
	}
	e := &Estimate{
		Rate: w.Rate, Payload: w.Payload, FanOut: m.topics, Claims: m.claims, Region: w.Region, Prices: w.Prices, Flows: m.flows,
		Warnings: []string{},
	}
	for _, o := range declared.Outboxes {
		e.Shards = append(e.Shards, shardsOf(o, m.flows, w.Failing))
	}
	catalog := withShards(declared, e.Shards)
	file := requirements.IndexesOf(catalog)
	e.Compute = computeOf(catalog, w.Rate, m.topics+m.claims, w.Payload, w.Instances, w.CPU, w.Memory)
	e.Lanes = lanesOf(catalog, m.flows, e.Compute.Instances)

	fleet := Fleet{
		Catalog: catalog, Instances: e.Compute.Instances, Schedule: w.Schedule, Kept: make(map[string]float64), Pending: make(map[string]float64),
	}
	stored, rate, all := 0.0, w.Rate, make(map[string]Sizes)
	for n, o := range catalog.Outboxes {
		sizes, err := SizesOf(catalog, o, file, w.Payload)
		if err != nil {
			return nil, err
		}
		all[o.Name] = sizes
		e.Listeners += listenersOf(o)
		if of := m.rates[o.Name]; of*(writesOfRecord+w.Failing) > SequentialWrites {
			e.Shards[n].Hot = hotFields(file, o.Name)
		}
		fleet.Pending[o.Name] = 1 - math.Exp(-underWay.Seconds()*m.rates[o.Name]/float64(max(o.Shards, 1)))
		if o.OnDelivered == contracts.MarkDelivered {
			fleet.Kept[o.Name] = m.rates[o.Name] * (o.Retention + expiryDelay).Seconds()
			stored += fleet.Kept[o.Name] * (sizes.Document + sizes.Index)
		}
		e.Message += sizes.Message * m.rates[o.Name] / rate
		e.Document += (sizes.Document + sizes.Index) * m.rates[o.Name] / rate
	}
	e.Traffic = trafficOf(all, m.rates, rate, m.topics, m.topics+m.claims)
	fleet.Frozen = rate * w.Dead * m.tiers[contracts.SecurityBlock] * frozenFor * 3600

	if w.Dead > 0 {
		fleet.Waiting = openStates
	}

	b := &billing{estimate: e, prices: prices}
	for _, p := range w.parts(catalog, fleet, m) {
		b.operations(p)
	}
	b.add(FirestoreStorage, "delivered records until they expire, with their index entries", stored, Published, false)
	attempts := rate * (m.topics + m.claims) * (1 + w.Failing)
	volume := pubSubOf(rate*m.topics*(1+w.Failing), e.Message, attempts, rate*m.claims, float64(e.Compute.Instances), w.Subscriptions)
	b.add(PubSubThroughput, "messages published", volume.Published*secondsOfMonth, Published, false)
	b.add(PubSubThroughput, "messages delivered to subscriptions", volume.Delivered*secondsOfMonth, Assumed, false)
	b.add(PubSubThroughput, "lag samples on domain-metrics", volume.Samples*secondsOfMonth, Measured, false)
	b.queues(w, fleet, file)
	instances := float64(e.Compute.Instances) * secondsOfMonth
	b.add(RunCPU, "instances, CPU always allocated", instances*e.Compute.CPU, Published, true)
	b.add(RunMemory, "memory of instances", instances*e.Compute.Memory, Published, true)
	b.add(Logging, "logs", float64(e.Compute.Instances)*logsAtRest+rate*w.Dead*logsOfDeadLetter*secondsOfMonth, Assumed, true)
	if w.Free {
		b.free(w.Prices)
	}
	b.finish(w.Rate * secondsOfMonth / 1e6)
	e.warn(w, catalog, m)
	return e, nil
}

const (
	// expiryDelay is how late a TTL policy deletes: published as typically within it.
	expiryDelay = 24 * time.Hour
	// Bytes of log: of an instance in a month, and of a dead letter. Delivered
	// records are not logged.
	logsAtRest       = 64 * mebibyte
	logsOfDeadLetter = 4096
	// underWay is how long a record is pending: assumed.
	underWay = 300 * time.Millisecond
)

// parts are the causes of operations.
func (w *Workload) parts(c *contracts.Catalog, f Fleet, m mix) []part {
	var delivered, retried Operations
	for _, o := range c.Outboxes {
		rate := m.rates[o.Name]
		delivered = delivered.Plus(Delivered(o.OnDelivered, w.Backlog).Times(rate * (1 - w.Dead)))
		retried = retried.Plus(Retried(o.OnDelivered, w.Backlog).Times(rate * w.Failing))
	}
	var dead Operations
	for _, o := range c.Outboxes {
		for _, e := range o.Events {
			outbox, queue := DeadLetter(c, e.Tier, o.OnDelivered, f.Instances)
			dead = dead.Plus(outbox.Plus(queue).Times(m.rates[o.Name] * w.Dead / float64(len(o.Events))))
		}
	}
	idle := f
	idle.Pending, idle.Waiting = nil, 0
	dead = dead.Plus(f.Queue()).Plus(idle.Queue().Times(-1))
	watched := f.Canaries().Plus(f.Sweeps()).Plus(idle.Canaries().Plus(idle.Sweeps()).Times(-1))
	return []part{
		{"the producers' appends", Append().Times(w.Rate), Published, false},
		{"delivered records", delivered, Measured, false},
		{"retries", retried, Measured, false},
		{"dead letters", dead, Measured, false},
		{"role and policy changes", RoleChange().Times(w.Rate * m.claims), Measured, false},
		{"canaries and sweeps where something is pending", watched, Measured, false},
		{"idle: canaries of the listeners", idle.Canaries(), Measured, true},
		{"idle: sweeps", idle.Sweeps(), Measured, true},
		{"idle: leases", f.Leases(), Measured, true},
		{"idle: dead-letter queue, freezes, lane controls", idle.Queue(), Measured, true},
	}
}

// billing puts lines into an estimate.
type billing struct {
	estimate *Estimate
	prices   map[Article]Price
}

// queues adds what the work queues cost.
func (b *billing) queues(w *Workload, f Fleet, file indexes.File) {
	q := w.Queues
	from := len(b.estimate.Lines)
	for _, p := range q.parts(f) {
		b.operations(p)
	}
	b.add(FirestoreStorage, "jobs: what a month leaves behind, and each month as much more", q.Jobs*secondsOfMonth*q.storedOfJob(file), Assumed, false)
	b.add(FirestoreStorage, "notifications: what a month leaves behind, and each month as much more", q.Notifications*secondsOfMonth*q.storedOfEvent(file), Assumed, false)
	if q.Channel == ChannelPubSub {
		volume := pubSubOf(q.Jobs, leastOfRequest, 0, 0, 0, w.Subscriptions)
		b.add(PubSubThroughput, "jobs: messages published and delivered", (volume.Published+volume.Delivered)*secondsOfMonth, Assumed, false)
	}
	for n := range b.estimate.Lines[from:] {
		b.estimate.Lines[from+n].Queue = true
	}
	b.estimate.Queues = q.costs(f.Instances, b.prices)
}

func (b *billing) operations(p part) {
	month := p.ops.Times(secondsOfMonth)
	b.add(FirestoreReads, p.what, month.Reads, p.basis, p.idle)
	b.add(FirestoreWrites, p.what, month.Writes, p.basis, p.idle)
	b.add(FirestoreDeletes, p.what, month.Deletes, p.basis, p.idle)
	b.add(FirestoreExpired, p.what, month.Expired, p.basis, p.idle)
}

// add takes a quantity in the formulas' own units.
func (b *billing) add(a Article, what string, quantity float64, basis Basis, idle bool) {
	if quantity == 0 {
		return
	}
	l := Line{Article: a, What: what, Quantity: quantity / units[a].size, Unit: units[a].name, Basis: basis}
	l.Cost = l.Quantity * b.prices[a].Price
	if idle {
		b.estimate.Idle += l.Cost
	}
	b.estimate.Lines = append(b.estimate.Lines, l)
}

// free takes off what is free of each article.
func (b *billing) free(p *Prices) {
	for _, a := range articles {
		used, _ := b.estimate.sum(a)
		if off := min(used, p.freeInMonth(a)); off > 0 {
			b.estimate.Lines = append(b.estimate.Lines, Line{
				Article: a, What: "free of charge", Quantity: -off, Unit: units[a].name, Cost: -off * b.prices[a].Price, Basis: Published,
			})
		}
	}
}

// finish sorts and adds up, for so many million records a month.
func (b *billing) finish(millions float64) {
	e := b.estimate
	var sorted []Line
	records := 0.0
	for _, a := range articles {
		for _, l := range e.Lines {
			if l.Article != a {
				continue
			}
			if e.Total += l.Cost; !l.Queue {
				l.Million = l.Cost / millions
				records += l.Cost
			}
			sorted = append(sorted, l)
		}
	}
	e.Lines, e.PerMillion = sorted, records/millions
}

// warn names what the workload runs into.
func (e *Estimate) warn(w *Workload, c *contracts.Catalog, m mix) {
	add := func(format string, args ...any) { e.Warnings = append(e.Warnings, fmt.Sprintf(format, args...)) }
	for _, s := range e.Shards {
		switch {
		case s.Beyond:
			add("%s: %s alone writes %.0f times a second, more than %d shards bear; spread its events over several outboxes", s.Outbox, s.Lane, s.Writes, maxShards)
		case s.Needed > s.Declared:
			add("%s: declare shards: %d, as %s writes %.0f times a second into one index and %d are published as its limit", s.Outbox, s.Needed, s.Lane, s.Writes, SequentialWrites)
		}
		if len(s.Hot) > 0 {
			add("%s: exempt %v from single-field indexes, each is one sequential index for the whole collection", s.Outbox, s.Hot)
		}
	}
	for _, l := range e.Lanes {
		if l.WorkersNeeded > l.Workers {
			add("%s has %d workers, which publish %.0f records/s in each instance if each takes %v: declare workers: %d",
				l.Lane, l.Workers, carries(l.Workers), PublishTime, l.WorkersNeeded)
		}
		if l.InFlightNeeded > l.InFlight {
			add("%s has inFlight: %d, declare %d", l.Lane, l.InFlight, l.InFlightNeeded)
		}
	}
	if others := max(1, e.Compute.Instances-1); e.Listeners > others*StreamsOfConnection {
		add("%d listeners are more than %d instances open while another is gone: the connection of each takes %d, and the other lanes are polled, up to %v late",
			e.Listeners, others, StreamsOfConnection, PolledWithin)
	}
	if n := len(c.Shares()); e.Compute.Instances > n {
		add("%d instances share %d outboxes and shards: what is beyond that stands by", e.Compute.Instances, n)
	}
	if e.Compute.Instances < e.Compute.Needed {
		add("%d instances of %v CPU are few: %d would be busy to one half", e.Compute.Instances, e.Compute.CPU, e.Compute.Needed)
	}
	if e.Compute.Memory < e.Compute.Peak {
		add("%.3g GiB of memory are few: with all lanes full and an instance gone, %.2g GiB are used", e.Compute.Memory, e.Compute.Peak)
	}
	calls := 0.0 // to Firebase Auth, that the catalog allows
	for _, t := range c.Targets {
		calls += t.RatePerSecond
	}
	if used := e.Rate * m.claims * callsOfRoleChange; used > calls*float64(e.Compute.Instances) {
		add("%.0f calls a second to Firebase Auth are more than the %.0f that the catalog allows each instance", used, calls)
	}
	for _, q := range e.Queues {
		rate := w.Queues.rateOf(q.Queue)
		if used := rate * writesOfPending; used > SequentialWrites {
			add("%s: %.0f documents a second write %.0f times into the index of what is pending, and %d are published as its limit; a work queue has no shards", q.Queue, rate, used, SequentialWrites)
		}
	}
	if e.Payload > largePayload {
		add("a payload of %.0f bytes leaves a dead letter no room for its copy in Firestore's 1 MiB", e.Payload)
	}
	if e.Rate > rampFrom {
		add("begin slowly: Firestore asks for 500 operations a second on a new collection, and half more every 5 minutes")
	}
}

const (
	callsOfRoleChange = 2
	largePayload      = 900 << 10 // the relay trims the copy beyond it
	rampFrom          = 250       // an append and a mark each
	// StreamsOfConnection is how many calls Google's endpoints take at once on one
	// connection, as maintainers of Firestore's clients say; those beyond it wait
	// until another one ends.
	StreamsOfConnection = 100
	// PolledWithin is how long after its append a record is delivered at most whose
	// lane has no stream: simulated. Mostly it is a fraction of a second.
	PolledWithin = 15 * time.Second
)

// KeyRate is how many messages a second one aggregate may have: Pub/Sub's
// published 1 MB/s for an ordering key.
func (e *Estimate) KeyRate() float64 { return 1e6 / e.Message }
