package feed

// Action is what is to be done about an event.
type Action struct {
	Do     Do
	Feed   *Feed   // HaveRoom, DrainOn, ReadOn
	Record *Record // Submit, Wake, and those that say what becomes of the event's record

	Open, Gated []string    // Deliver: where it may go now, and what is behind gates
	Others      []string    // Deliver: of Open, for which more wait that are not in memory
	Write       *Settlement // Write
}

// Do is what an action says.
type Do int

// What the shell is to do for anybody.
const (
	// Submit: hand the record to its lane, or to the dead-letter queue.
	Submit Do = iota
	// Write: write the settlement.
	Write
	// HaveRoom: there may be room in the feed again.
	HaveRoom
	// DrainOn: something may be read back for the feed.
	DrainOn
	// ReadOn: the feed was sent back: read it on from its start.
	ReadOn
	// Wake: the record has left memory; whoever waits for that goes on.
	Wake
)

// What becomes of the record of a Turn.
const (
	// Deliver: deliver it to what is open.
	Deliver Do = iota + 100
	// Hold: settle it as held.
	Hold
	// WaitTurn: it waits, as the event said.
	WaitTurn
	// WaitBurial: an older one of its aggregate is being dead-lettered.
	WaitBurial
	// WaitFreeze: its aggregate is about to be frozen.
	WaitFreeze
	// WaitOlder: older ones of its aggregate may not have been read yet.
	WaitOlder
)

// What becomes of a record that was tried, held, withdrawn, given back or missed;
// some also of one whose turn it is.
const (
	// Probe: it stays, and probes the target.
	Probe Do = iota + 200
	// Again: a gate opened in the meantime: deliver again.
	Again
	// Rest: it stays until an older one of its aggregate has left.
	Rest
	// Forget: it has left memory; its gate brings it back, if one does.
	Forget
	// SaveIt: it leaves memory once its progress is written.
	SaveIt
	// LetGo: there is nothing to be done; it is on another way.
	LetGo
	// Reading: it is going to be read again.
	Reading
)

// Taken is how far a Batch or a Back was taken in.
type Taken struct {
	Records int // how many of its records
	Stopped Stop
	Behind  *Record // StoppedLeaving: that has to leave first
}

// Stop is why records were not taken in.
type Stop int

const (
	// NotStopped: all were.
	NotStopped Stop = iota
	// StoppedSubmit: one was. Submit it, and then give the rest: not before it is in
	// its lane, or refused, does anything else count on it.
	StoppedSubmit
	// StoppedFull: there is no room; give the rest again once there is.
	StoppedFull
	// StoppedStale: the feed was sent back since it was read: read again from its
	// start. Of a page that was to bring back: it is older than what was written; read
	// it again.
	StoppedStale
	// StoppedLeaving: an older record of an aggregate is leaving memory. No query may
	// show it before that is written: read again then.
	StoppedLeaving
)
