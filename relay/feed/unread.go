package feed

import (
	"slices"
	"time"
)

// Unread returns when the oldest was appended of the records that the feed knows of and
// has not taken: those that wait for room, and those that it was sent back for. Zero: it
// knows of none. Unless it was sent back, what it does not know of is younger than what
// it has in memory.
func (f *Feed) Unread() time.Time {
	oldest := f.oldestWaiting()
	if !f.reached.Zero() && (oldest.Zero() || f.again.Before(oldest)) {
		oldest = f.again
	}
	return oldest.At
}

// oldestWaiting is the oldest record that waits for room; zero: none does.
func (f *Feed) oldestWaiting() (oldest Position) {
	if f.waiting == nil {
		return Position{}
	}
	for _, r := range f.waiting.Records {
		if p := r.Position(); oldest.Zero() || p.Before(oldest) {
			oldest = p
		}
	}
	return oldest
}

// waitsForRoom reports whether r was read and waits for room.
func (f *Feed) waitsForRoom(r *Record) bool {
	return f.waiting != nil && slices.ContainsFunc(f.waiting.Records, func(each *Record) bool { return each.ID == r.ID })
}

// goesBack notes what a feed that is sent back to p has not taken any more: also what
// waited for room, which is read again.
func (f *Feed) goesBack(p Position) {
	back := p
	if oldest := f.oldestWaiting(); !oldest.Zero() && oldest.Before(back) {
		back = oldest
	}
	if f.reached.Zero() || back.Before(f.again) {
		f.again = back
	}
	for _, q := range []Position{p, f.cursor} {
		if f.reached.Before(q) {
			f.reached = q
		}
	}
}

// comesBack notes that all was taken up to the cursor.
func (f *Feed) comesBack(reach Reach) {
	switch {
	case f.reached.Zero():
	case reach != Partly || !f.cursor.Before(f.reached):
		f.again, f.reached = Position{}, Position{}
	case f.again.Before(f.cursor):
		f.again = f.cursor
	}
}
