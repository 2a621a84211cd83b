package relay

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// freezes is the relay's view of the frozen aggregates. It is fed by a watch, a
// poll and by what this relay buries itself, in any order: what is newer by the
// server's update time counts, and only a read that was begun afterwards can
// tell that a freeze is gone. Each change is passed on to every outbox.
//
// A view may be late. What it must not do in that time, hold a record after its
// release began, Firestore prevents: each hold is written together with the
// freeze's Fence.
type freezes struct {
	queue    *dlq.Queue // nil: nothing is ever frozen
	outboxes []*outbox
	log      *zap.Logger
	count    prometheus.Gauge
	ended    prometheus.Counter

	mu         sync.Mutex // before any ledger's lock
	asOf       time.Time  // when the last read of all of them began
	aggregates map[string]*frozen
	doubtful   map[string]struct{} // to be read again: it may be gone
	voids      int                 // burials that were void since the start
	thaws      int                 // that were begun since the start
	wake       chan struct{}       // a token when something became doubtful
}

// frozen is one aggregate that is not free.
type frozen struct {
	freeze  *dlq.Freeze     // as last told; nil: there is none
	listed  []string        // by the freeze, with what this relay buried since
	dying   int             // burials of this relay on their way that freeze it
	void    []int           // of these, such as were not written by us, each by its number: what stands has to be read
	thawing map[*outbox]int // the outboxes that are to let it go on: each thaw by its number
}

func newFreezes(q *dlq.Queue, log *zap.Logger, m *Metrics) *freezes {
	return &freezes{
		queue: q, log: log, count: m.frozen, ended: m.thaws,
		aggregates: make(map[string]*frozen), doubtful: make(map[string]struct{}), wake: make(chan struct{}, 1),
	}
}

// standing is how the aggregate stands in o.
func (f *frozen) standing(o *outbox) feed.Standing {
	_, thawing := f.thawing[o]
	switch {
	case f.freeze != nil && f.freeze.State == dlq.Releasing:
		return feed.Releasing
	case f.freeze != nil:
		return feed.Frozen
	case thawing:
		return feed.Thawing
	case f.dying > 0:
		return feed.Dying
	}
	return feed.Free
}

func (f *frozen) over() bool { return f.freeze == nil && f.dying == 0 && len(f.thawing) == 0 }

// endVoid ends the void burials up to that number, as a read that began after
// them does.
func (f *frozen) endVoid(upTo int) {
	left := slices.DeleteFunc(f.void, func(n int) bool { return n <= upTo })
	f.dying -= len(f.void) - len(left)
	f.void = left
}

func (z *freezes) getLocked(aggregateID string) *frozen {
	f := z.aggregates[aggregateID]
	if f == nil {
		f = &frozen{thawing: make(map[*outbox]int)}
		z.aggregates[aggregateID] = f
	}
	return f
}

// passLocked tells the outboxes how an aggregate stands.
func (z *freezes) passLocked(aggregateID string, f *frozen) {
	if f.over() {
		delete(z.aggregates, aggregateID)
	}
	z.count.Set(float64(len(z.aggregates)))
	for _, o := range z.outboxes {
		o.stand(aggregateID, f.standing(o))
	}
}

// mergeLocked takes in a freeze as it was read or written. It reports whether
// that was news.
func (z *freezes) mergeLocked(freeze *dlq.Freeze) bool {
	f := z.getLocked(freeze.AggregateID)
	if f.freeze == nil || !freeze.UpdateTime.Before(f.freeze.UpdateTime) {
		f.listed = freeze.DeadLetters
	}
	if f.freeze != nil && !freeze.UpdateTime.After(f.freeze.UpdateTime) {
		return false
	}
	if f.freeze == nil || f.freeze.State != freeze.State {
		said := "aggregate "
		if f.freeze == nil && z.asOf.IsZero() { // it was there before this relay
			said = "aggregate stands "
		}
		z.log.Info(said+string(freeze.State), zap.String("aggregateId", freeze.AggregateID), zap.String("traceId", freeze.TraceID), zap.Time("frozenAt", freeze.FrozenAt))
	}
	f.freeze = freeze
	clear(f.thawing)
	z.passLocked(freeze.AggregateID, f)
	return true
}

// join has o told of what is frozen, now and from now on.
func (z *freezes) join(o *outbox) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.outboxes = append(z.outboxes, o)
	for aggregateID, f := range z.aggregates {
		o.stand(aggregateID, f.standing(o))
	}
}

// part ends that. An aggregate that o was to let go on is read from the oldest
// by whoever takes its records up next.
func (z *freezes) part(o *outbox) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.outboxes = slices.DeleteFunc(z.outboxes, func(each *outbox) bool { return each == o })
	for aggregateID, f := range z.aggregates {
		if delete(f.thawing, o); f.over() {
			delete(z.aggregates, aggregateID)
		}
	}
	z.count.Set(float64(len(z.aggregates)))
}

// read takes in all freezes as a read saw them that began at began.
func (z *freezes) read(all []*dlq.Freeze, began time.Time) (news bool) {
	news = z.told(all)
	z.mu.Lock()
	defer z.mu.Unlock()
	if began.After(z.asOf) {
		z.asOf = began
	}
	return news
}

// known reports whether all that were there at a moment have been read since.
func (z *freezes) known(at time.Time) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return !z.asOf.Before(at)
}

// told takes in all freezes as a watch or a poll saw them. One that is missing
// there is in doubt: what was seen may be older than what is known. It reports
// whether there was news.
func (z *freezes) told(all []*dlq.Freeze) (news bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	there := make(map[string]struct{}, len(all))
	for _, freeze := range all {
		there[freeze.AggregateID] = struct{}{}
		news = z.mergeLocked(freeze) || news
	}
	for aggregateID, f := range z.aggregates {
		if _, ok := there[aggregateID]; !ok && f.freeze != nil {
			z.doubtLocked(aggregateID)
			news = true
		}
	}
	return news
}

func (z *freezes) doubtLocked(aggregateID string) {
	z.doubtful[aggregateID] = struct{}{}
	signal(z.wake)
}

// dying tells that a dead letter that freezes the aggregate is about to be
// written: its later records wait from now on.
func (z *freezes) dying(aggregateID string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f := z.getLocked(aggregateID)
	f.dying++
	z.passLocked(aggregateID, f)
}

// buried tells that such a dead letter was written, with the freeze. It joined the freeze's
// list, unless that was replaced: then the freeze has it.
func (z *freezes) buried(freeze *dlq.Freeze, deadLetter string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f := z.getLocked(freeze.AggregateID)
	f.dying--
	if freeze.DeadLetters == nil {
		f.join(deadLetter)
		freeze.DeadLetters = f.listed
	}
	if !z.mergeLocked(freeze) {
		z.passLocked(freeze.AggregateID, f)
	}
	z.doubtLocked(freeze.AggregateID) // it may be released already
}

// notBuried tells that such a dead letter was not written by this commit:
// somebody else settled the record, or it was written before. What stands has
// to be read before anything of the aggregate goes on.
func (z *freezes) notBuried(aggregateID string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f := z.getLocked(aggregateID)
	z.voids++
	f.void = append(f.void, z.voids)
	z.doubtLocked(aggregateID)
}

// fence returns the freeze on which a hold has to insist; nil when the
// aggregate is not frozen.
func (z *freezes) fence(aggregateID string) *dlq.Freeze {
	z.mu.Lock()
	defer z.mu.Unlock()
	if f := z.aggregates[aggregateID]; f != nil && f.freeze != nil && f.freeze.State == dlq.Frozen {
		return f.freeze
	}
	return nil
}

// thaw returns the number of the aggregate's thaw in o; zero when there is none.
func (z *freezes) thaw(o *outbox, aggregateID string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	if f := z.aggregates[aggregateID]; f != nil {
		return f.thawing[o]
	}
	return 0
}

// thawed tells that in the thaw of that number o has none of the aggregate's records
// in memory and knows where the oldest of them stand: they go on. It reports false
// when the aggregate was frozen again meanwhile, even if it thaws again since: there
// may be records in memory by now, and older ones pending.
func (z *freezes) thawed(o *outbox, aggregateID string, thaw int, oldest map[*feed.Feed]Position) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	f := z.aggregates[aggregateID]
	if f == nil || f.thawing[o] != thaw {
		return false
	}
	delete(f.thawing, o)
	if f.over() {
		delete(z.aggregates, aggregateID)
		z.count.Set(float64(len(z.aggregates)))
	}
	o.ledger.step(feed.Thawed{AggregateID: aggregateID, Standing: f.standing(o), Oldest: oldest})
	return true
}

// toldOne takes in one freeze as it was read.
func (z *freezes) toldOne(freeze *dlq.Freeze) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.mergeLocked(freeze)
}

// unfreeze has o read the records of an aggregate in order that was not frozen:
// some of them were held all the same, and are pending again.
func (z *freezes) unfreeze(o *outbox, aggregateID string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f := z.getLocked(aggregateID)
	if f.freeze != nil {
		return
	}
	z.thawLocked(o, f)
	z.passLocked(aggregateID, f)
	o.thaws.add(aggregateID)
}

// list returns the aggregates that are not free.
func (z *freezes) list() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Collect(maps.Keys(z.aggregates))
}

// size returns how many aggregates are not free.
func (z *freezes) size() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return len(z.aggregates)
}

// settleDoubts reads what is in doubt.
func (z *freezes) settleDoubts(ctx context.Context) error {
	z.mu.Lock()
	ids := make([]string, 0, len(z.doubtful))
	for id := range z.doubtful {
		ids = append(ids, id)
	}
	clear(z.doubtful)
	z.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	err := z.look(ctx, ids...)
	if err != nil {
		z.mu.Lock()
		defer z.mu.Unlock()
		for _, id := range ids {
			z.doubtLocked(id)
		}
	}
	return err
}

// look reads the freezes of aggregates as they stand now. Others may look at
// the same time, so it takes down only what it can tell of: the freezes that
// were known and the burials that were void before it read.
func (z *freezes) look(ctx context.Context, aggregateIDs ...string) error {
	known := make(map[string]*dlq.Freeze)
	z.mu.Lock()
	voids := z.voids
	for _, id := range aggregateIDs {
		if f := z.aggregates[id]; f != nil {
			known[id] = f.freeze
		}
	}
	z.mu.Unlock()
	found, err := z.queue.FreezesOf(ctx, aggregateIDs...)
	if err != nil {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	there := make(map[string]struct{})
	for _, freeze := range found {
		there[freeze.AggregateID] = struct{}{}
		z.mergeLocked(freeze)
	}
	for id, freeze := range known {
		f := z.aggregates[id]
		if f == nil {
			continue
		}
		f.endVoid(voids)
		if _, ok := there[id]; !ok && f.freeze != nil && f.freeze == freeze {
			z.goneLocked(id, f)
			continue
		}
		z.passLocked(id, f)
	}
	return nil
}

// goneLocked begins the thaw of an aggregate whose freeze is gone.
func (z *freezes) goneLocked(aggregateID string, f *frozen) {
	z.log.Info("aggregate released", zap.String("aggregateId", aggregateID), zap.String("traceId", f.freeze.TraceID))
	z.ended.Inc()
	f.freeze, f.listed = nil, nil
	for _, o := range z.outboxes {
		z.thawLocked(o, f)
	}
	z.passLocked(aggregateID, f)
	for _, o := range z.outboxes {
		o.thaws.add(aggregateID) // once it stands so there, or it would be passed over
	}
}

// thawLocked begins a thaw in o, which one that is under way is not to end.
func (z *freezes) thawLocked(o *outbox, f *frozen) {
	z.thaws++
	f.thawing[o] = z.thaws
}
