package contracts

import "slices"

// patternIndex finds a pattern that overlaps another of its length. Two do where their
// beginnings agree and their ends do, so that those are looked at alone that agree in the one
// of the two in which fewer do.
type patternIndex struct{ prefixes, suffixes agreement }

// agreement has patterns by one of their two texts, and by each beginning of it.
type agreement struct{ whole, begun map[place][]declared }

type place struct {
	length int // of the pattern
	text   string
}

func newPatternIndex() *patternIndex {
	empty := func() agreement { return agreement{make(map[place][]declared), make(map[place][]declared)} }
	return &patternIndex{empty(), empty()}
}

// texts are what the ends of a pattern are looked up by: a suffix from behind.
func texts(d declared) (prefix, suffix string) {
	e := endsOf(d.Type)
	backwards := []byte(e.suffix)
	slices.Reverse(backwards)
	return e.prefix, string(backwards)
}

func (x *patternIndex) add(d declared) {
	prefix, suffix := texts(d)
	x.prefixes.add(d, prefix)
	x.suffixes.add(d, suffix)
}

// overlapping returns a pattern of d's length that was added and matches some event that d does.
func (x *patternIndex) overlapping(d declared) (other declared, found bool) {
	prefix, suffix := texts(d)
	few, n := x.prefixes.agreeing(d, prefix)
	if others, m := x.suffixes.agreeing(d, suffix); m < n {
		few = others
	}
	ends := endsOf(d.Type)
	for _, list := range few {
		for _, other := range list {
			if ends.overlap(endsOf(other.Type)) {
				return other, true
			}
		}
	}
	return declared{}, false
}

func (a agreement) add(d declared, text string) {
	a.whole[place{len(d.Type), text}] = append(a.whole[place{len(d.Type), text}], d)
	for end := range len(text) {
		begun := place{len(d.Type), text[:end]}
		a.begun[begun] = append(a.begun[begun], d)
	}
}

// agreeing lists the n patterns whose text begins with text, or text with theirs.
func (a agreement) agreeing(d declared, text string) (lists [][]declared, n int) {
	lists = append(lists, a.begun[place{len(d.Type), text}])
	for end := range len(text) + 1 {
		lists = append(lists, a.whole[place{len(d.Type), text[:end]}])
	}
	for _, list := range lists {
		n += len(list)
	}
	return lists, n
}
