package feed

import (
	"hash/maphash"
	"time"

	"outboxrelay/contracts"
)

// A ledger remembers at least the last leastSettled settlements of a lane, and as many
// more as it takes to remember those of the last settledFor of the server's time. They
// tell what was read before them and comes after them: an answer on its way, a snapshot
// that waits until its reader takes it. What is older than what was forgotten is read
// again, at a read for each, so a lane that works off a backlog at any speed has to
// remember for longer than readSkew and a page together.
const (
	leastSettled = 1600 // as many as a map of 2,048 places holds, which takes up 35 KiB
	settledFor   = 2 * time.Second
	mostSettled  = 20 * leastSettled // those of 2 s at 16,000 a second; whatever the server's time does
)

// settlements are the last ones of an outbox, those of each lane apart: a flood
// in one does not push out another's. Those of strays have no lane.
type settlements map[contracts.Lane]*recent

func (s settlements) add(lane contracts.Lane, id string, what settled) {
	r := s[lane]
	if r == nil {
		r = newRecent(leastSettled, mostSettled)
		s[lane] = r
	}
	r.add(id, what)
}

// judge judges a document that a lane's feed read, and is not in memory. Its record
// was settled in that lane, or as a stray. Without a lane it is one that was
// searched, and may have been anything before.
func (s settlements) judge(d Sight, by contracts.Lane) Judgement {
	j := Unknown
	for lane, r := range s {
		if by != "" && lane != by && lane != "" {
			continue
		}
		switch r.judge(d) {
		case Known:
			return Known
		case Doubtful:
			j = Doubtful
		case Unknown, Leaving:
		}
	}
	return j
}

// recent remembers the latest settlements of one lane, in two generations: when the
// younger has enough of them, the older is forgotten, and the younger becomes it. Each
// takes up some 20 bytes, since a long backlog fills those of all lanes of all outboxes.
// So documents are known by a hash of their ID. That two of 3,200 share one, of 64 bits,
// is one in 3,000,000,000,000; then the later one is taken for the other until that is
// forgotten, and is found by the next sweep after that.
type recent struct {
	young, old  *generation
	least, most int // settlements of a generation
	// forgotten is the latest server time of a settlement that is not remembered
	// any more.
	forgotten instant
}

// generation is some settlements that follow each other.
type generation struct {
	marked  map[document]instant // versions that were written before this server time are settled
	deleted map[document]settled // what was deleted, which is rare
	// first and last are the earliest and the latest server time of its settlements.
	first, last instant
}

// document is the hash of a document's ID.
type document uint64

var documents = maphash.MakeSeed()

func documentOf(id string) document { return document(maphash.String(documents, id)) }

// settled tells which versions of a document are older than its settlement.
type settled struct {
	at      instant // versions that were written before this server time, whenever they were read
	created instant // reads of a document of that creation, which was deleted; zero: it still stands
	since   instant // for a deletion, which carries no time: what the server's time was at least
}

func (s settled) covers(d Sight) bool {
	return instantOf(d.UpdateTime) < s.at || s.created != 0 && instantOf(d.CreateTime) == s.created
}

// instant is a server's time in nanoseconds, a third as large as a time.Time: a
// backlog's drain remembers tens of thousands. Zero is the zero time, and before all
// others.
type instant uint64

// instantOf is right for the years 1678 to 2261.
func instantOf(t time.Time) instant {
	if t.IsZero() {
		return 0
	}
	return instant(uint64(t.UnixNano()) ^ 1<<63) // the sign becomes the order
}

func newRecent(least, most int) *recent {
	return &recent{young: newGeneration(0), old: newGeneration(0), least: least, most: most}
}

func newGeneration(room int) *generation {
	return &generation{marked: make(map[document]instant, room), deleted: make(map[document]settled)}
}

func (r *recent) add(id string, s settled) {
	if r.young.complete(r.least, r.most) {
		r.forgotten = max(r.forgotten, r.old.last)
		r.old, r.young = r.young, newGeneration(r.least)
	}
	r.young.add(documentOf(id), s)
}

// of returns the latest settlement of a document.
func (r *recent) of(d document) (settled, bool) {
	if s, known := r.young.of(d); known {
		return s, true
	}
	return r.old.of(d)
}

// complete reports whether the next settlement begins another generation.
func (g *generation) complete(least, most int) bool {
	n := g.size()
	return n >= most || n >= least && g.last >= g.first+instant(settledFor)
}

func (g *generation) size() int { return len(g.marked) + len(g.deleted) }

func (g *generation) add(d document, s settled) {
	now := max(s.at, s.since)
	if g.first == 0 || now < g.first {
		g.first = now
	}
	g.last = max(g.last, now)
	if s.created == 0 && s.since == 0 {
		delete(g.deleted, d)
		g.marked[d] = s.at
	} else {
		delete(g.marked, d)
		g.deleted[d] = s
	}
}

func (g *generation) of(d document) (settled, bool) {
	if at, known := g.marked[d]; known {
		return settled{at: at}, true
	}
	s, known := g.deleted[d]
	return s, known
}

// readSkew is by how much a read's server time may be late: what it shows is not
// older than that.
const readSkew = time.Second

// judge tells what is known of a document. One that has not changed since a
// settlement that is forgotten, and was read before that, may be what was settled.
// While a reader keeps up, what it reads is younger than any that is forgotten.
func (r *recent) judge(d Sight) Judgement {
	if s, known := r.of(documentOf(d.ID)); known && s.covers(d) {
		return Known
	}
	if r.forgotten != 0 && instantOf(d.UpdateTime) <= r.forgotten && instantOf(d.ReadTime) < r.forgotten+instant(readSkew) {
		return Doubtful
	}
	return Unknown
}
