package feed

import (
	"time"

	"outboxrelay/contracts"
)

// Event is what happened. An event is taken in whole, before the next.
type Event interface{ event() }

// Reading.
type (
	// Batch is what a page or a snapshot showed and was not known: the records of
	// complete commits, those of an aggregate in the order of their versions. What
	// does not come in for want of room is to be given again; see Taken.
	Batch struct {
		Feed       *Feed
		Generation int // of the feed when it was read from
		Records    []*Record
		UpTo       Position // the place of the last document that is not fresh
		Reach      Reach    // how far this was all that there is
	}
	// Back is what a page that ReadBack asked for showed of what was left behind.
	Back struct {
		Gate    *Gate
		Known   []string  // IDs of documents that were in memory or settled
		Records []*Record // the others, those of an aggregate in the order of their versions
	}
	// BackEnded ends such a page, up to the place of its last document; where it was
	// not taken whole it is the place at which it began.
	BackEnded struct {
		Gate *Gate
		UpTo Position
	}
	// Sized tells of what the records of a page or a snapshot take up in memory
	// together, about, by which the next are measured.
	Sized struct {
		Feed    *Feed
		Records int
		Bytes   int64
	}
	// Found is a record that no feed brought: a stray, or one that was searched.
	Found struct{ Record *Record }
	// Missed is a record that stands in Firestore as if no listener had told of it.
	// It is not in memory. Late: the feed's reader is late, and may not have come to what
	// was appended when it was.
	Missed struct {
		Record *Record
		Late   bool
	}
	// Reread has the feed read on from a place, or from where it was if that is
	// before it.
	Reread struct {
		Feed *Feed
		From Position
	}
)

// Reach says how far what a batch tells was all that is pending.
type Reach int

const (
	// Partly: there may be more behind it.
	Partly Reach = iota
	// Through: pages came to their end, and all that is not fresh was shown.
	Through
	// Live: a listener's window shows all, and what comes.
	Live
)

// The lane.
type (
	// Refused is a record that its lane does not take, or does not keep, as too many of
	// its aggregate queue behind one that waits. Unsaved: Firestore must be told
	// something before it leaves memory.
	Refused struct {
		Record  *Record
		By      contracts.Lane
		Unsaved bool
	}
	// Idle tells that a lane that refused records of an aggregate has none of it left.
	Idle struct {
		Aggregate string
		Lane      contracts.Lane
	}
	// Turn is that of a record in its lane. What can be told from it alone comes with
	// it: that nothing may be delivered now, or not before its wait is over.
	Turn struct {
		Record  *Record
		NotNow  bool
		Later   bool
		Unsaved bool // Firestore must be told something before it can leave
		// Withheld are targets that older records of its run wait for.
		Withheld []string
	}
	// Tried is the outcome of a round of delivery.
	Tried struct {
		Record *Record
		Acked  []string // the targets that have it now
		Alone  []string // targets that are out, at which it failed for itself
		InVain []string // targets that it has probed in vain for long
		Then   Then
		// Of one that Parks. Blocked were refused by their breakers; Gated are behind a
		// gate, or an older record of its run; Unsaved says that Firestore must be told
		// something before it can leave.
		Blocked, Gated []string
		Unsaved        bool
	}
	// Lingers is a record that leaves memory for long, as its progress is not written:
	// nobody waits for it any more. Younger ones of its aggregate are left behind the
	// aggregate's gate, which opens once it has left.
	Lingers struct{ Record *Record }
	// Holds is a record that is in no lane and is to be held, as its aggregate is
	// frozen.
	Holds struct{ Record *Record }
	// Withdrawn is a record that was taken out of its lane, as its aggregate's freeze
	// ends: it is read again in the order of its aggregate.
	Withdrawn struct {
		Record  *Record
		Unsaved bool
	}
	// GivenBack is a record that was taken out of its lane as the outbox is given back,
	// or that its lane does not take any more.
	GivenBack struct {
		Record  *Record
		Unsaved bool
	}
)

// Then is what a record does after a round of delivery.
type Then int

const (
	// Ends: every target has it, or it goes on at once.
	Ends Then = iota
	// Retries: it failed, and waits for its retry.
	Retries
	// Awaits: it waits for a target that fails as if it were out.
	Awaits
	// Parks: it waits for targets that are out.
	Parks
	// Dies: it is about to be dead-lettered, its attempts used up.
	Dies
)

// Targets and freezes.
type (
	// Answers tells that a target answers again.
	Answers struct{ Target string }
	// Stands tells how an aggregate stands with the freezes.
	Stands struct {
		AggregateID string
		Standing    Standing
	}
	// Thawed ends a thaw: nothing of the aggregate is in memory, and these are its
	// oldest pending records.
	Thawed struct {
		AggregateID string
		Standing    Standing // from now on
		Oldest      map[*Feed]Position
	}
)

// Settlement.
type (
	// Settle has a settlement of a record written.
	Settle struct{ Settlement *Settlement }
	// Settled tells that it was written.
	Settled struct {
		Settlement *Settlement
		At         time.Time // the document's update time after it; zero: it was deleted, or nothing tells
	}
	// Dropped tells that it is not written, and needs not be: the record goes on as it
	// is.
	Dropped struct{ Settlement *Settlement }
	// Overtaken tells that somebody else's write made it pointless.
	Overtaken struct {
		Settlement *Settlement
		At         time.Time // of that write
	}
	// Elsewhere tells that somebody else settled a document for good, at that time: what
	// was read of it before is not to be delivered any more.
	Elsewhere struct {
		ID string
		At time.Time
	}
	// Unheld tells that a hold is given up: its aggregate is not frozen any more.
	Unheld struct {
		Settlement *Settlement
		Unsaved    bool
	}
	// Changed tells that somebody else changed a record's document.
	Changed struct {
		Record *Record
		At     time.Time
	}
)

// Settlement is one record's next state on its way to Firestore.
type Settlement struct {
	Record *Record
	Kind   Kind
	Owner  any // of the settlement in the shell
}

// Kind is what a settlement makes of its record.
type Kind int

const (
	// End: it leaves memory for good.
	End Kind = iota
	// Mark: it stays.
	Mark
	// Save: it leaves memory, pending, to be read again.
	Save
)

func (Batch) event()     {}
func (Back) event()      {}
func (BackEnded) event() {}
func (Sized) event()     {}
func (Found) event()     {}
func (Lingers) event()   {}
func (Missed) event()    {}
func (Reread) event()    {}
func (Refused) event()   {}
func (Idle) event()      {}
func (Turn) event()      {}
func (Tried) event()     {}
func (Holds) event()     {}
func (Withdrawn) event() {}
func (GivenBack) event() {}
func (Answers) event()   {}
func (Stands) event()    {}
func (Thawed) event()    {}
func (Settle) event()    {}
func (Settled) event()   {}
func (Dropped) event()   {}
func (Overtaken) event() {}
func (Elsewhere) event() {}
func (Unheld) event()    {}
func (Changed) event()   {}
