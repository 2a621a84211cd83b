package feed

import (
	"hash/maphash"
	"time"

	"outboxrelay/contracts"
)

// settledMemory is how many settlements of a lane a ledger remembers. They tell
// what was read before them and comes after them: an answer on its way, a
// snapshot that waits until its reader takes it. At 1,000 records a second that
// is four seconds; what is older than what was forgotten is read again.
const settledMemory = 4096

// settlements are the last ones of an outbox, those of each lane apart: a flood
// in one does not push out another's. Those of strays have no lane.
type settlements map[contracts.Lane]*settledRing

func (s settlements) add(lane contracts.Lane, id string, what settled) {
	r := s[lane]
	if r == nil {
		r = newSettledRing(settledMemory)
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

// settledRing remembers the last settlements of one lane, each in some 40 bytes, since
// a long backlog fills the rings of all lanes of all outboxes. So documents are known
// by a hash of their ID. That two of the 4,096 share one, of 64 bits, is one in
// 2,000,000,000,000; then the later one is taken for the other until the ring has gone
// round, and is found by the next sweep after that.
type settledRing struct {
	marked  map[document]instant // versions that were written before this server time are settled
	deleted map[document]settled // what was deleted, which is rare
	size    int
	order   []document // grows to size, then goes round
	next    int
	// forgotten is the latest server time of a settlement that is not remembered
	// any more.
	forgotten instant
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

func newSettledRing(size int) *settledRing {
	return &settledRing{marked: make(map[document]instant), deleted: make(map[document]settled), size: size}
}

func (r *settledRing) add(id string, s settled) {
	d := documentOf(id)
	if _, known := r.of(d); !known {
		r.push(d)
	}
	r.forget(d)
	if s.created == 0 && s.since == 0 {
		r.marked[d] = s.at
	} else {
		r.deleted[d] = s
	}
}

func (r *settledRing) of(d document) (settled, bool) {
	if at, known := r.marked[d]; known {
		return settled{at: at}, true
	}
	s, known := r.deleted[d]
	return s, known
}

func (r *settledRing) forget(d document) {
	delete(r.marked, d)
	delete(r.deleted, d)
}

// push takes up a document in the place of the one that is there the longest.
func (r *settledRing) push(d document) {
	if len(r.order) < r.size {
		r.order = append(r.order, d)
		return
	}
	oldest := r.order[r.next]
	s, _ := r.of(oldest)
	r.forgotten = max(r.forgotten, s.at, s.since)
	r.forget(oldest)
	r.order[r.next] = d
	r.next = (r.next + 1) % r.size
}

// readSkew is by how much a read's server time may be late: what it shows is not
// older than that.
const readSkew = time.Second

// judge tells what is known of a document. One that has not changed since a
// settlement that is forgotten, and was read before that, may be what was settled.
// While a reader keeps up, what it reads is younger than any that is forgotten.
func (r *settledRing) judge(d Sight) Judgement {
	if s, known := r.of(documentOf(d.ID)); known && s.covers(d) {
		return Known
	}
	if r.forgotten != 0 && instantOf(d.UpdateTime) <= r.forgotten && instantOf(d.ReadTime) < r.forgotten+instant(readSkew) {
		return Doubtful
	}
	return Unknown
}
