package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// scenario is all that is decided before a run. It follows from a seed, and a
// smaller one is made of it by taking parts away.
type scenario struct {
	Seed      uint64
	Theme     theme
	Crowded   bool // much happens at the same moment
	Kept      int  // records that were delivered before, and expire
	Size      size
	Instances int
	Alone     bool          // the one instance has no leases
	Skew      time.Duration // of Firestore's clock against that of the instances
	Span      time.Duration // after which nothing fails any more
	LateReads float64       // share of reads whose read time is later than what they show
	Equal     float64       // share of commits at the time of the one before
	Appends   []appending
	Faults    []fault
	Ends      []ending
	Acts      []act
	Thaw      bool // at the end all that is frozen is released
}

// appending is one commit of a producer.
type appending struct {
	At      time.Duration // negative: before any instance starts
	Late    time.Duration // from its createdAt to its commit
	Records []planned
}

// planned is one record.
type planned struct {
	Outbox, Type, Aggregate string
	Version                 int64
	Defect                  defect
	Poison                  poison
}

func (p planned) key() string { return fmt.Sprintf("%s/%s-%d", p.Outbox, p.Aggregate, p.Version) }

// defect is what is wrong with a record as it is appended.
type defect string

const (
	sound       defect = ""
	noLane      defect = "without a lane"
	strangeLane defect = "of a lane that there is not"
	noType      defect = "of an event type that its outbox does not declare"
	noStatus    defect = "without a status"
	retrying    defect = "in backoff" // which a producer should not append
)

// broken reports whether a record with the defect breaks the contract.
func (d defect) broken() bool { return d != sound && d != retrying }

// poison is how a record fails by itself.
type poison struct {
	Kind   poisonKind
	Target string // "": all of its targets
	Times  int    // deliveries that fail
}

type poisonKind string

const (
	wholesome    poisonKind = ""
	attributable poisonKind = "attributable" // an answer that may be the target's, too
	ownFault     poisonKind = "own"          // an answer that is plainly about the record
	permanent    poisonKind = "permanent"
)

// ending ends the life of an instance.
type ending struct {
	Instance int
	At       time.Duration
	Steps    int           // it goes on for so many steps of its own
	Clean    bool          // by SIGTERM; else it is killed
	Back     time.Duration // until it starts again
}

// act is something that an operator does.
type act struct {
	At   time.Duration
	What string
	N    uint64 // draws what it is done to
}

// The acts of operators.
const (
	actPause     = "pause"
	actResume    = "resume"
	actRelease   = "release"
	actReplay    = "replay"
	actAuthorize = "authorize"
	actWithdraw  = "withdraw"
	actDiscard   = "discard"
)

// lateWithin is how much later than its createdAt a record is committed at most
// where order is judged: it is what the relay allows for.
const lateWithin = 400 * time.Millisecond

// mostTogether is how many records one commit appends at most. What a page reads
// and what it completes of a cut commit fits into memory, as it does in the
// product's own catalog.
const mostTogether = 8

// theme is what a scenario has more of than others.
type theme string

const (
	mixed    theme = "mixed"
	outages  theme = "outages"  // targets that come and go, few aggregates, records of several targets, restarts
	restarts theme = "restarts" // amid a backlog, as a target comes back, while Firestore is slow
	floods   theme = "floods"   // backlogs before targets that take little
	freezes  theme = "freezes"  // accounts that are frozen and released, and Firestore fails
	expiry   theme = "expiry"   // many records that expire
)

func draftTheme(d *draw) theme {
	switch n := d.IntN(100); {
	case n < 35:
		return mixed
	case n < 60:
		return outages
	case n < 70:
		return restarts
	case n < 78:
		return floods
	case n < 93:
		return freezes
	}
	return expiry
}

// draft draws a scenario.
func draft(seed uint64) scenario {
	d := &draw{Rand: rand.New(rand.NewPCG(seed, 0x5eed))}
	s := scenario{
		Seed: seed, Theme: draftTheme(d), Instances: 1 + d.IntN(3), Span: d.between(40*time.Second, 180*time.Second), Thaw: d.hit(0.7),
		Crowded: d.hit(0.25),
		Size: size{
			Window: 6 + d.IntN(30), Page: 3 + d.IntN(20), Behind: 2 + d.IntN(12), Shards: 1, Delete: d.hit(0.3),
			Retention: d.between(5*time.Second, 60*time.Second).Truncate(time.Second), Backoff: 500 * time.Millisecond,
		},
	}
	if d.hit(0.4) { // records are in backoff for long
		s.Size.Backoff = d.between(time.Second, 10*time.Second).Truncate(time.Millisecond)
	}
	s.Size.InFlight = s.Size.Page + mostTogether + d.IntN(20)
	if d.hit(0.3) {
		s.Size.Shards = 2 + d.IntN(2)
	}
	if d.hit(0.3) {
		s.Instances = 1
		s.Alone = d.hit(0.5)
	}
	if d.hit(0.3) {
		s.Skew = d.between(-5*time.Second, 5*time.Second)
	}
	if d.hit(0.5) {
		s.LateReads = d.Float64() * 0.5
	}
	if d.hit(0.4) {
		s.Equal = d.Float64() * 0.5
	}
	if s.Theme == expiry {
		s.Kept = 1000 + d.IntN(1500)
	}
	s.Appends = draftAppends(d, s)
	s.Faults = draftFaults(d, s)
	s.Ends = draftEnds(d, s)
	s.Acts = draftActs(d, s)
	return s
}

func draftEnds(d *draw, s scenario) (out []ending) {
	n, back := 0, 20*time.Second
	switch {
	case s.Theme == restarts:
		n, back = 1+d.IntN(4), 5*time.Second
	case s.Theme == outages && d.hit(0.8):
		n, back = 1+d.IntN(8), 2*time.Second
	case d.hit(0.6):
		n = 1 + d.IntN(5)
	}
	for range n {
		out = append(out, ending{
			Instance: d.IntN(s.Instances), At: d.between(time.Second, s.Span), Steps: d.IntN(60), Clean: d.hit(0.45), Back: d.between(10*time.Millisecond, back),
		})
	}
	slices.SortStableFunc(out, func(a, b ending) int { return int(a.At - b.At) })
	return out
}

func draftActs(d *draw, s scenario) (out []act) {
	acts, n := []string{actPause, actResume, actRelease, actRelease, actReplay, actReplay, actAuthorize, actAuthorize, actWithdraw, actDiscard}, 0
	switch {
	case s.Theme == freezes:
		acts, n = append(acts, actRelease, actRelease, actRelease, actRelease), 10+d.IntN(40)
	case d.hit(0.6):
		n = d.IntN(25)
	}
	for range n {
		out = append(out, act{At: d.between(time.Second, s.Span), What: pick(d, acts), N: d.Uint64()})
	}
	slices.SortStableFunc(out, func(a, b act) int { return int(a.At - b.At) })
	return out
}

// traffic is what producers append.
type traffic struct {
	aggregates          int
	backlog, live       int
	poisoned, defective float64
	accounts            float64 // share of commits to outbox accounts
	types               map[string][]string
}

func draftTraffic(d *draw, s scenario) traffic {
	t := traffic{aggregates: 2 + d.IntN(20), live: 10 + d.IntN(80), accounts: 0.35, types: eventTypes}
	switch {
	case d.hit(0.15):
		t.backlog = 150 + d.IntN(300)
	case d.hit(0.5):
		t.backlog = d.IntN(80)
	}
	if d.hit(0.5) {
		t.poisoned = 0.02 + 0.1*d.Float64()
	}
	if d.hit(0.25) {
		t.defective = 0.05
	}
	switch s.Theme {
	case outages:
		t.aggregates, t.live, t.accounts = 1+d.IntN(5), 60+d.IntN(120), 0.2
		t.types = map[string][]string{"orders": {"Shipped", "Shipped", "Shipped", "Placed", "Noted"}, "accounts": {"Opened"}}
		if t.poisoned > 0 {
			t.poisoned += 0.1
		}
		t.defective = 0
	case restarts:
		t.aggregates, t.backlog, t.live, t.accounts = 2+d.IntN(10), 20+d.IntN(120), d.IntN(30), 0.1
		t.types = map[string][]string{"orders": {"Shipped", "Shipped", "Shipped", "Placed"}, "accounts": {"Opened"}}
		t.poisoned, t.defective = 0.1+0.2*d.Float64(), 0
	case floods:
		t.aggregates, t.backlog, t.accounts = 5+d.IntN(50), 250+d.IntN(300), 0
		t.types = map[string][]string{"orders": {"Placed", "Placed", "Placed", "Paid"}}
		t.poisoned /= 5
	case expiry:
		t.backlog, t.defective = min(t.backlog, 20), 0 // without a status they have all that is kept searched
	case freezes:
		t.aggregates, t.accounts = 1+d.IntN(5), 0.6
		t.types = map[string][]string{"orders": {"Placed", "Revoked", "Revoked", "Shipped"}, "accounts": {"RoleSet", "RoleSet", "Opened"}}
		t.poisoned = 0.1 + 0.2*d.Float64()
	}
	return t
}

// draftAppends draws what producers append: a backlog, and what comes live.
func draftAppends(d *draw, s scenario) []appending {
	t := draftTraffic(d, s)
	late := d.hit(0.4)
	versions := make(map[string]int64)
	var out []appending
	for n := 0; n < t.backlog+t.live; {
		a := appending{At: -1}
		if n >= t.backlog {
			a.At = d.between(0, s.Span)
		}
		if late && d.hit(0.3) {
			a.Late = d.between(0, lateWithin)
		}
		outbox := "orders"
		if d.hit(t.accounts) {
			outbox = "accounts"
		}
		together := 1
		if d.hit(0.4) {
			together += d.IntN(mostTogether)
		}
		for range together {
			p := planned{Outbox: outbox, Type: pick(d, t.types[outbox]), Aggregate: fmt.Sprintf("a%02d", d.IntN(t.aggregates))}
			if d.hit(t.poisoned) {
				p.Poison = draftPoison(d)
			}
			if d.hit(t.defective) {
				p.Defect = pick(d, []defect{noLane, strangeLane, noType, noStatus, retrying})
			}
			a.Records = append(a.Records, p)
			n++
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b appending) int { return int(a.At - b.At) })
	for _, a := range out {
		for i := range a.Records {
			p := &a.Records[i]
			versions[p.Outbox+p.Aggregate]++
			p.Version = versions[p.Outbox+p.Aggregate]
		}
		// A commit's documents have no order.
		d.Shuffle(len(a.Records), func(i, j int) { a.Records[i], a.Records[j] = a.Records[j], a.Records[i] })
	}
	return out
}

func draftPoison(d *draw) poison {
	p := poison{Kind: pick(d, []poisonKind{attributable, attributable, ownFault, permanent}), Times: 1 + d.IntN(3)}
	if d.hit(0.5) {
		p.Times = 3 + d.IntN(8)
	}
	if d.hit(0.5) {
		p.Target = pick(d, targetNames)
	}
	return p
}
