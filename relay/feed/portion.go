package feed

// portion says how many records of a feed are to be read at once. Before a
// document is decoded nobody knows its size, so it goes by those that were read
// last: many small ones, few large ones.
type portion struct {
	typical int64 // bytes of a record in memory; 0: none was seen
}

const (
	// firstPortion is how many are read before any size is known.
	firstPortion = 20
	// leastWindow is the smallest window: a listener should show what is appended
	// while what it showed before is on its way.
	leastWindow = 20
)

// learn notes how large records are that were read, so many bytes together. It
// follows larger ones at once and smaller ones by halves.
func (p *portion) learn(records int, bytes int64) {
	if records == 0 {
		return
	}
	mean := bytes / int64(records)
	if mean < p.typical {
		mean = (mean + p.typical) / 2
	}
	p.typical = mean
}

// page returns how many records are to be read into so many bytes, most at most.
func (p *portion) page(most int, bytes int64) int {
	if p.typical == 0 {
		return min(most, firstPortion)
	}
	return int(min(int64(most), max(1, bytes/p.typical)))
}

// window returns how many documents a listener may show in so many bytes, most
// at most.
func (p *portion) window(most int, bytes int64) int {
	if p.typical == 0 {
		return most
	}
	return int(min(int64(most), max(leastWindow, bytes/p.typical)))
}

// fills reports whether a window of n documents takes up more than so many bytes.
func (p *portion) fills(n int, bytes int64) bool { return int64(n)*p.typical > bytes }
