package feed

import "time"

// Position is a place in a lane's order: createdAt, then document ID.
type Position struct {
	At time.Time
	ID string // empty: before every document of that time
}

// lastID is behind every document ID of a commit.
const lastID = "\U0010FFFF"

// EndOfTime is behind every document.
var EndOfTime = Position{At: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), ID: lastID}

// Zero reports whether p is the start, before every document.
func (p Position) Zero() bool { return p.At.IsZero() && p.ID == "" }

// Before reports whether p stands before q.
func (p Position) Before(q Position) bool {
	if !p.At.Equal(q.At) {
		return p.At.Before(q.At)
	}
	return p.ID < q.ID
}

// Covers reports whether a reader that is at p is past q. Commits are read whole,
// so it is past all documents of p's time: also those that its query did not
// show.
func (p Position) Covers(q Position) bool {
	return q.At.Before(p.At) || q.At.Equal(p.At) && p.ID != ""
}

// commit is the place before every document of p's time: one commit's records
// share it.
func (p Position) commit() Position { return Position{At: p.At} }

// Sight is what a read tells of a document, besides its content.
type Sight struct {
	ID         string
	CreatedAt  time.Time // its createdAt; zero when that is not a timestamp
	CreateTime time.Time // of the document, by the server
	UpdateTime time.Time // of the document, by the server
	ReadTime   time.Time // when the server read it
}

// Position is the document's place in its lane.
func (s Sight) Position() Position { return Position{At: s.CreatedAt, ID: s.ID} }

// Freshness is how old a record must be for a cursor to pass it.
const Freshness = 500 * time.Millisecond

// Fresh reports whether a record may still appear before this one. A server
// timestamp has milliseconds and is taken before its commit, so among the newest
// records one may appear before others that were read. A cursor must not pass
// that place; a listener's snapshot shows it.
func (s Sight) Fresh() bool { return s.CreatedAt.After(s.ReadTime.Add(-Freshness)) }
