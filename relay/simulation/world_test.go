package simulation

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// world is one run of a scenario.
type world struct {
	plan    scenario
	catalog *contracts.Catalog
	began   time.Time
	chance  *chance
	db      *database
	places  map[string]*place
	judge   *judge
	verbose logs

	steps     atomic.Int64
	over      chan struct{}  // nothing begins any more
	flights   sync.WaitGroup // commits on their way
	producers sync.WaitGroup
	processes sync.WaitGroup // also those that were killed

	mu     sync.Mutex
	counts map[string]int64
	lives  map[int]*life
	all    map[string]*life      // also those that are over, by name
	backs  map[int]time.Duration // until an instance starts again

	reads, mostReads int64 // of documents of outboxes: how many there were, and may be
}

// logs returns where a process logs to; nil: they go nowhere.
type logs func(who string) *zap.Logger

// result is what a run came to.
type result struct {
	Steps            int64
	Counts           map[string]int64
	Faults           []violation
	Events           []event
	Time             time.Duration // virtual
	Reads, MostReads int64
}

// restWithin is how long after the last fault everything has to be at rest: some
// leases' terms, sweeps, replays and backoffs.
const restWithin = 15 * time.Minute

// simulate runs a scenario, within a bubble.
func simulate(plan scenario, verbose logs) result {
	catalog, err := plan.Size.catalog()
	if err != nil {
		panic(err)
	}
	w := &world{
		plan: plan, catalog: catalog, began: time.Now(), chance: newChance(plan.Seed, plan.Crowded), db: newDatabase(plan.Skew), places: make(map[string]*place),
		verbose: verbose, over: make(chan struct{}), counts: make(map[string]int64), lives: make(map[int]*life), all: make(map[string]*life), backs: make(map[int]time.Duration),
	}
	w.judge = newJudge(w)
	w.db.committed = w.judge.committed
	for _, name := range targetNames {
		w.places[name] = &place{name: name}
	}
	w.backlog()
	w.kept()
	queue, err := dlq.New(dlq.Config{Store: queueStore{newWire(w, "operator", -1)}, Catalog: catalog})
	if err != nil {
		panic(err)
	}
	var instances, operators, others sync.WaitGroup
	for i := range plan.Instances {
		instances.Go(func() { w.run(i) })
	}
	w.produce()
	operators.Go(func() { w.operate(queue) })
	others.Go(w.breakThings)
	others.Go(w.endLives)
	others.Go(w.expire)
	others.Go(w.watchMemory)
	others.Go(w.billSweeps)
	time.Sleep(time.Until(w.began.Add(plan.Span)))
	w.producers.Wait()
	for _, l := range w.living() {
		l.left.Store(0)
	}
	operators.Wait()
	w.note("world", "nothing fails any more", "", "")
	w.tidy(queue)
	w.rest()
	close(w.over)
	for _, l := range w.living() {
		l.quit()
	}
	others.Wait()
	instances.Wait()
	w.processes.Wait()
	w.flights.Wait()
	w.judge.finish()
	w.judgeReads()
	return result{Steps: w.steps.Load(), Counts: w.counts, Faults: w.judge.found(), Events: w.judge.history(), Time: w.elapsed(), Reads: w.reads, MostReads: w.mostReads}
}

func (w *world) elapsed() time.Duration { return time.Since(w.began) }

func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// log is nil, the story's, or that of a crowded world.
func (w *world) log(who string) (log *zap.Logger) {
	if w.verbose != nil {
		log = w.verbose(who)
	}
	if !w.plan.Crowded {
		return log
	}
	crowd := crowdedCore{w.chance.numbers(who + " gives way")}
	if log == nil {
		return zap.New(crowd)
	}
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return zapcore.NewTee(c, crowd) }))
}

func (w *world) note(who, what, about, detail string) { w.judge.note(who, what, about, detail) }

func (w *world) enlist(l *life) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[l.instance], w.all[l.who] = l, l
}

// lifeOf returns the process of that name.
func (w *world) lifeOf(who string) *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[who]
}

func (w *world) dismiss(l *life) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lives[l.instance] == l {
		delete(w.lives, l.instance)
	}
}

// living lists the processes that run, by instance.
func (w *world) living() []*life {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*life
	for i := range w.plan.Instances {
		if l := w.lives[i]; l != nil {
			out = append(out, l)
		}
	}
	return out
}

// back is when an instance starts again that ended.
func (w *world) back(instance int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.backs[instance]
}

// endLives ends processes as the scenario says.
func (w *world) endLives() {
	for _, e := range w.plan.Ends {
		time.Sleep(time.Until(w.began.Add(e.At)))
		for _, l := range w.living() {
			if l.instance != e.Instance || l.stops.Load() {
				continue
			}
			w.mu.Lock()
			w.backs[e.Instance] = e.Back
			w.mu.Unlock()
			switch {
			case e.Clean:
				w.count("fault: clean stop")
				l.quit()
			case e.Steps == 0:
				w.count("fault: kill")
				l.kill()
			default:
				w.count("fault: kill")
				l.left.Store(int64(e.Steps))
			}
		}
	}
}

// breakThings breaks what breaks at a moment.
func (w *world) breakThings() {
	var breaking sync.WaitGroup
	for i := range w.plan.Faults {
		f := &w.plan.Faults[i]
		breaking.Go(func() {
			time.Sleep(time.Until(w.began.Add(f.From)))
			w.note("world", "fault", "", f.String())
			switch f.Kind {
			case down, streamsEnd, streamsSilent:
				w.breakStreams(f)
			}
		})
	}
	breaking.Wait()
}

// expire deletes what its TTL lets go of, sooner or later.
func (w *world) expire() {
	for n := 0; ; n++ {
		d := w.chance.of("expire")
		select {
		case <-time.After(d.between(time.Second, 10*time.Second)):
		case <-w.over:
			return
		}
		for _, o := range w.catalog.Outboxes {
			now := w.db.now()
			gone := w.ids(o.Name, func(doc *document) bool {
				at, ok := doc.fields[contracts.FieldExpireAt].(time.Time)
				return ok && at.Before(now)
			})
			for _, id := range gone {
				if d.hit(0.5) {
					w.count("fault: expired")
					_, _ = w.db.commit("ttl", []dlq.Write{{Collection: o.Name, ID: id, Op: dlq.OpDelete}}, false)
				}
			}
		}
	}
}

// rest waits until everything is at rest, and says what is not if that takes too
// long.
func (w *world) rest() {
	deadline := time.Now().Add(restWithin)
	for {
		unrest := w.judge.unrest()
		if unrest == "" {
			unrest = w.inMemory()
		}
		if unrest == "" {
			return
		}
		if time.Now().After(deadline) {
			w.judge.fault("rest", w.judge.restless(), "%v after the last fault %s", restWithin, unrest)
			return
		}
		time.Sleep(time.Second)
	}
}

// inMemory names what is in the memory of a process.
func (w *world) inMemory() string {
	for _, l := range w.living() {
		for _, o := range l.relay.Health().Outboxes {
			if o.Here && o.InMemory+o.LeftBehind > 0 {
				return fmt.Sprintf("%s has %d records of %s in memory and knows of %d left behind", l.who, o.InMemory, o.Outbox, o.LeftBehind)
			}
		}
	}
	return ""
}
