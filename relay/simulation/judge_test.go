package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// judge follows what happens to each record and says what must not have.
type judge struct {
	world *world

	mu       sync.Mutex
	records  map[string]*record // by path
	groups   map[string][]*record
	letters  map[string]string // paths by the ID of their dead letter
	events   []event
	faults   []violation
	troubles []trouble
	flying   map[*trouble]struct{}    // commits that are not answered yet
	deaths   map[string]time.Duration // of processes that were killed
	calls    map[string][]answer      // of a target, since it last answered well; by process and target
	bill     bill
	frozen   map[string]freezing // by aggregate
}

// record is what the judge knows of one.
type record struct {
	planned
	path     string
	name     string // in a story
	lane     contracts.Lane
	targets  []string
	appended bool
	dead     bool // it was dead-lettered, now or before
	status   contracts.Status
	gone     bool // its document was deleted
	receipts map[string][]*receipt
	noted    map[string]time.Duration // when the store first said that a target has it
	failures int                      // answers that may count as attempts
	own      map[string]int           // failures for its own sake, by target
	outages  int                      // answers that say nothing of it
	answered map[string]time.Duration // when the last call for it came back, by process
	endured  int                      // of those that may count, such as came while the target had to be seen to be out
}

// receipt is one arrival of a record at a target.
type receipt struct {
	at, began time.Duration // began: when the call did that delivers it
	who       string
	acked     bool
	replay    bool
}

// answer is a failed call of a target.
type answer struct {
	at        time.Duration
	aggregate string
}

// trouble is a commit of a process that was not answered well, or not soon, or a read
// that one waits for.
type trouble struct {
	who      string
	from, to time.Duration
}

// violation is something that must not happen.
type violation struct {
	Judge string // which of them says so
	About string // the record's name; "": of no single one
	Text  string
	At    time.Duration
}

func newJudge(w *world) *judge {
	j := &judge{
		world: w, records: make(map[string]*record), groups: make(map[string][]*record), letters: make(map[string]string),
		deaths: make(map[string]time.Duration), calls: make(map[string][]answer), frozen: make(map[string]freezing), flying: make(map[*trouble]struct{}),
	}
	for _, a := range w.plan.Appends {
		for _, p := range a.Records {
			route := w.catalog.Outbox(p.Outbox).Route(p.Type)
			r := &record{
				planned: p, path: w.path(p), name: p.key(), lane: route.Lane, targets: route.Targets, receipts: make(map[string][]*receipt),
				noted: make(map[string]time.Duration), own: make(map[string]int), answered: make(map[string]time.Duration),
			}
			j.records[r.path] = r
			group := fmt.Sprintf("%s/%s/%s", p.Outbox, r.lane, p.Aggregate)
			j.groups[group] = append(j.groups[group], r)
			_, id, _ := strings.Cut(r.path, "/")
			j.letters[id] = r.path
		}
	}
	return j
}

func (j *judge) pathOfLetter(id string) string { return j.letters[id] }

// fault notes a violation.
func (j *judge) fault(by, about, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faultLocked(by, about, format, args...)
}

func (j *judge) faultLocked(by, about, format string, args ...any) {
	v := violation{by, about, fmt.Sprintf(format, args...), j.world.elapsed()}
	if r := j.records[about]; r != nil {
		v.About = r.name
	}
	j.faults = append(j.faults, v)
	j.noteLocked("judge", whatViolation, about, by+": "+v.Text)
}

// whatViolation marks the judge's lines in a history.
const whatViolation = "VIOLATION"

func (j *judge) found() []violation {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.faults)
}

// killed notes that a process is gone.
func (j *judge) killed(who string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.deaths[who] = j.world.elapsed()
}

// slowCommit is what a commit may take before it is a cause for others to deliver
// what it marks: the time that a process has to give back a share.
const slowCommit = 2 * time.Second

// sent notes a commit that is sent, or a read that one waits for, and whether it will
// have no answer. What it returns ends that.
func (j *judge) sent(x *wire, at time.Duration, never bool) (ended func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := &trouble{who: x.who, from: at}
	if never {
		t.from -= slowCommit
	}
	j.flying[t] = struct{}{}
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.flying, t)
	}
}

// answered notes how a commit was answered, or a read that one waits for.
func (j *judge) answered(x *wire, from, to time.Duration, err error) {
	if err == nil && to-from < slowCommit {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.troubles = append(j.troubles, trouble{x.who, from, to})
}

// troubled reports whether a process had trouble with its commits in that time.
func (j *judge) troubled(who string, from, to time.Duration) bool {
	for t := range j.flying {
		if t.who == who && to-t.from >= slowCommit {
			return true
		}
	}
	return slices.ContainsFunc(j.troubles, func(t trouble) bool { return t.who == who && t.to >= from && t.from <= to })
}

// committed follows a commit. The database is locked.
func (j *judge) committed(_ time.Time, by string, changes []change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range changes {
		j.billedLocked(c)
		if c.collection == contracts.CollectionFrozen {
			j.frozeLocked(by, c, changes)
		}
		if r := j.recordOf(c); r != nil {
			j.changed(r, by, c, changes)
		}
	}
}

func (j *judge) recordOf(c change) *record {
	d := c.after
	if d == nil {
		d = c.before
	}
	if d == nil {
		return nil
	}
	return j.records[c.collection+"/"+d.id]
}

func statusOf(d *document) contracts.Status {
	s, _ := d.fields[contracts.FieldStatus].(string)
	return contracts.Status(s)
}

func (j *judge) changed(r *record, by string, c change, all []change) {
	switch {
	case c.after == nil && c.before == nil:
		return
	case c.after == nil:
		r.gone = true
		j.noteLocked(by, "deleted", r.path, "")
		if by != "ttl" {
			j.deliveredLocked(r, by)
		}
		return
	case c.before == nil:
		r.appended, r.status = true, statusOf(c.after)
		j.noteLocked(by, "appended", r.path, r.Type)
		return
	}
	now := statusOf(c.after)
	targets, _ := c.after.fields[contracts.FieldDeliveredTargets].([]any)
	for _, t := range targets {
		if name, _ := t.(string); len(r.receipts[name]) == 0 {
			j.faultLocked("lost", r.path, "%s says that %s has it, which it has not", by, name)
		} else if _, is := r.noted[name]; !is {
			r.noted[name] = j.world.elapsed()
		}
	}
	attempts, _ := c.after.fields[contracts.FieldAttempts].(int64)
	if int(attempts) > r.failures {
		j.faultLocked("attempts", r.path, "%s counts %d attempts, of which %d failed", by, attempts, r.failures)
	}
	if now == r.status {
		j.noteLocked(by, "written", r.path, fmt.Sprintf("%s, %v have it, %d attempts", now, targets, attempts))
		return
	}
	r.status = now
	j.noteLocked(by, string(now), r.path, fmt.Sprintf("%v have it, %d attempts", targets, attempts))
	switch now {
	case contracts.Delivered:
		j.deliveredLocked(r, by)
	case contracts.Dead:
		r.dead = true
		j.buriedLocked(r, by, all)
	}
}

func (j *judge) deliveredLocked(r *record, by string) {
	for _, t := range r.targets {
		if len(r.receipts[t]) == 0 {
			j.faultLocked("lost", r.path, "%s marks it as delivered, and %s has not got it", by, t)
		}
		if _, is := r.noted[t]; !is {
			r.noted[t] = j.world.elapsed()
		}
	}
}

// buriedLocked judges whether a dead letter has a cause.
func (j *judge) buriedLocked(r *record, by string, all []change) {
	var letter *document
	for _, c := range all {
		if c.collection == contracts.CollectionDeadLetters && c.after != nil && j.letters[c.after.id] == r.path {
			letter = c.after
		}
	}
	if letter == nil {
		letter = j.world.db.collections[contracts.CollectionDeadLetters].docs[strings.SplitN(r.path, "/", 2)[1]]
	}
	if letter == nil {
		j.faultLocked("lost", r.path, "%s marks it as dead, and there is no dead letter", by)
		return
	}
	switch reason := contracts.Reason(textOf(letter.fields[contracts.DeadFieldReason])); reason {
	case contracts.ContractViolation:
		if !r.Defect.broken() {
			j.faultLocked("attempts", r.path, "%s says that it breaks the contract", by)
		}
	case contracts.PermanentFailure:
		if r.Poison.Kind != permanent {
			j.faultLocked("attempts", r.path, "%s says that it failed for good", by)
		}
	case contracts.AttemptsExhausted:
		if j.exhausted(r) {
			return
		}
		j.faultLocked("attempts", r.path, "%s dead-letters it, though it failed %d times, %d of them for an outage", by, r.failures, r.endured)
	default:
		j.faultLocked("attempts", r.path, "%s dead-letters it for %s", by, reason)
	}
}

// unrest says what of the records is not at its end; "": nothing.
func (j *judge) unrest() string {
	// The database is locked first, as it is when it tells of a commit.
	j.world.db.mu.Lock()
	defer j.world.db.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	what, _ := j.unrestLocked()
	return what
}

// restless names a record that is not at its end.
func (j *judge) restless() string {
	j.world.db.mu.Lock()
	defer j.world.db.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	_, about := j.unrestLocked()
	return about
}

func (j *judge) unrestLocked() (what, about string) {
	frozen := make(map[string]bool)
	for _, d := range j.world.db.collectionLocked(contracts.CollectionFrozen).docs {
		if aggregate := textOf(d.fields[contracts.FieldAggregateID]); d.fields["state"] == "frozen" {
			frozen[aggregate] = true
		} else {
			return "the release of aggregate " + aggregate + " has not ended", ""
		}
	}
	for _, path := range slices.Sorted(maps.Keys(j.records)) {
		r := j.records[path]
		if r.gone || !r.appended {
			continue
		}
		switch d := j.world.db.collectionLocked(r.Outbox).docs[strings.SplitN(path, "/", 2)[1]]; {
		case d == nil:
		case r.status == contracts.Delivered || r.status == contracts.Dead:
		case r.status == contracts.Held && frozen[r.Aggregate]:
		default:
			return fmt.Sprintf("%s is %q", path, r.status), path
		}
	}
	for _, d := range j.world.db.collectionLocked(contracts.CollectionDeadLetters).docs {
		state := contracts.DeadState(textOf(d.fields[contracts.DeadFieldState]))
		if state == contracts.DeadScheduled || d.fields[contracts.DeadFieldReplaying] != nil {
			if j.blockedLetter(d) {
				continue
			}
			return fmt.Sprintf("dead letter %s is %s", d.id, state), j.letters[d.id]
		}
	}
	return "", ""
}

// blockedLetter reports whether an older dead letter of its aggregate that waits
// for a person comes first.
func (j *judge) blockedLetter(d *document) bool {
	for _, o := range j.world.db.collectionLocked(contracts.CollectionDeadLetters).docs {
		if o.fields[contracts.FieldAggregateID] == d.fields[contracts.FieldAggregateID] && o.fields[contracts.DeadFieldOutbox] == d.fields[contracts.DeadFieldOutbox] &&
			o.fields[contracts.DeadFieldOpen] == true && compare(o.fields[contracts.FieldAggregateVersion], d.fields[contracts.FieldAggregateVersion]) < 0 {
			return true
		}
	}
	return false
}

// finish judges what is left at the end.
func (j *judge) finish() {
	j.world.db.mu.Lock()
	defer j.world.db.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	letters := j.world.db.collectionLocked(contracts.CollectionDeadLetters).docs
	for _, path := range slices.Sorted(maps.Keys(j.records)) {
		r := j.records[path]
		id := strings.SplitN(path, "/", 2)[1]
		letter := letters[id]
		if r.status == contracts.Held || !r.appended {
			continue
		}
		for _, t := range r.targets {
			if len(r.receipts[t]) == 0 && (letter == nil || contracts.DeadState(textOf(letter.fields[contracts.DeadFieldState])) == contracts.DeadReplayed) &&
				(r.status == contracts.Delivered || r.status == contracts.Dead || r.gone) {
				j.faultLocked("lost", path, "%s has not got it, and it is no open dead letter", t)
			}
		}
	}
	slices.SortStableFunc(j.faults, func(a, b violation) int { return cmp.Compare(a.At, b.At) })
}

// opened takes a listener into the bill: its window, and its canary.
func (j *judge) opened(scan relay.Scan) {
	j.world.db.mu.Lock()
	defer j.world.db.mu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bill.shown += 1 + min(scan.Limit, j.world.unsettledLocked(scan.Outbox, ""))
}
