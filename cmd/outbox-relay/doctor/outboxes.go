package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	dlqfirestore "outboxrelay/dlq/firestore"
	"outboxrelay/relay"
	relayfirestore "outboxrelay/relay/firestore"
)

const (
	// sampled is how many pending records of each lane are looked at, the oldest.
	sampled = 20
	// A record that has been pending for so many SLAs of its lane, and for overdue
	// at least, is more than a peak.
	overdueSLAs = 10
	overdue     = time.Minute
)

// outboxes looks at what waits: the oldest pending records of each lane, read with
// the relay's own queries, judged as the relay will judge them.
func (e *exam) outboxes(ctx context.Context, g *Group, client *dlqfirestore.Client) {
	const check = "outboxes"
	if e.catalog == nil {
		g.skip(check, "there is no catalog")
		return
	}
	ctx, cancel := within(ctx)
	defer cancel()
	did := fmt.Sprintf("read the oldest %d pending records of each lane", sampled)
	store := relayfirestore.New(client, client)
	read, late, broken := 0, 0, 0
	for _, o := range e.catalog.Outboxes {
		s, err := e.sample(ctx, store, o)
		if err != nil {
			g.add(Finding{Check: check, Result: Skip, Subject: o.Name, Did: did, Detail: "cannot be read: " + why(err)})
			continue
		}
		read++
		if f, ok := s.late(); ok {
			late++
			f.Check, f.Subject, f.Did = check, o.Name, did
			f.Mend = []string{e.serviceCommand("lanes", "list"), e.serviceCommand("dlq", "list")}
			g.add(f)
		}
		if f, ok := s.broken(); ok {
			broken++
			f.Check, f.Subject, f.Did = check, o.Name, did
			g.add(f)
		}
	}
	if read > 0 && late+broken == 0 {
		g.ok(check, did, "%d outboxes: nothing waits for long, and nothing waits that breaks its contract", read)
	}
}

// serviceCommand is a command of the program on a running service.
func (e *exam) serviceCommand(words ...string) string {
	if e.Service != nil {
		words = append(words, "--url", e.Service.URL)
	}
	return command(append([]string{program}, words...)...)
}

// sample is what was seen of an outbox.
type sample struct {
	records int
	faults  map[string]int // records with it
	unsound int            // records with any
	oldest  time.Duration  // how long the oldest overdue one has waited
	lane    contracts.Lane // its
}

func (e *exam) sample(ctx context.Context, store *relayfirestore.Store, o *contracts.Outbox) (sample, error) {
	s := sample{faults: map[string]int{}}
	for _, share := range o.Shares() {
		for _, lane := range o.Lanes() {
			docs, err := store.Page(ctx, relay.Scan{
				Outbox: o.Name, Kind: relay.ScanLane, Lane: lane, Shard: share.Shard, Shards: share.Of,
				Limit: sampled + 1, // one may be the relay's canary
			})
			if err != nil {
				return s, err
			}
			for _, d := range docs {
				if d.Nonce == "" { // else it is a canary
					s.see(e.catalog, o.Name, lane, d)
				}
			}
		}
	}
	return s, nil
}

// see takes a record into the sample.
func (s *sample) see(catalog *contracts.Catalog, outbox string, lane contracts.Lane, d relay.Doc) {
	s.records++
	rec, faults := contracts.DecodeRecord(outbox, d.ID, d.Fields())
	checked := catalog.Check(rec, faults)
	if len(checked.Faults) > 0 {
		s.unsound++
	}
	for _, f := range checked.Faults {
		s.faults[f.String()]++
	}
	waited := d.ReadTime.Sub(d.CreatedAt)
	if waited > max(overdueSLAs*catalog.Lanes[lane].SLA, overdue) && waited > s.oldest {
		s.oldest, s.lane = waited, lane
	}
}

func (s *sample) late() (Finding, bool) {
	if s.oldest == 0 {
		return Finding{}, false
	}
	return Finding{
		Result: Warn, Detail: fmt.Sprintf("a record of %s has been pending for %v", s.lane, s.oldest.Round(time.Second)),
		Hint: "no relay runs, its target is down, the lane is paused, or it is far behind",
	}, true
}

// mostFaults bounds how many kinds of fault are told of one outbox.
const mostFaults = 5

// broken tells the faults, the most frequent first. A fault names fields, never a
// value.
func (s *sample) broken() (Finding, bool) {
	if s.unsound == 0 {
		return Finding{}, false
	}
	names := slices.SortedFunc(maps.Keys(s.faults), func(a, b string) int {
		if s.faults[a] != s.faults[b] {
			return s.faults[b] - s.faults[a]
		}
		return strings.Compare(a, b)
	})
	var told []string
	for _, name := range names[:min(len(names), mostFaults)] {
		told = append(told, fmt.Sprintf("%s (%d)", name, s.faults[name]))
	}
	return Finding{
		Result: Warn, Detail: fmt.Sprintf("%d of %d pending records break their contract, and will be dead letters: %s", s.unsound, s.records, strings.Join(told, "; ")),
		Hint: "mend the producer, or declare in the catalog what it appends",
	}, true
}
