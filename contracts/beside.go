package contracts

import "strconv"

// maxRoutes bounds the events of all outboxes together, with those of everyOutbox in each.
const maxRoutes = 100_000

// beside finds the events that cannot stand beside each other in one outbox. Each is held
// against the first of its like, not against all: a fault for each two of many tells no
// more, and takes a time that grows with their square.
type beside struct {
	r        *yamlReader
	where    string
	every    *beside // what stands in every outbox; nil: nothing
	first    map[like]declared
	patterns *patternIndex // the first of each type
}

// like is what two events have in common.
type like struct{ what, eventType, value string }

func ofType(d declared) like { return like{"type", d.Type, ""} }

func ofVersion(d declared) like { return like{"version", d.Type, strconv.FormatInt(d.Version, 10)} }

func ofKey(d declared) like { return like{"key", d.Type, string(d.Key)} }

func ofConsumer(d declared, consumer string) like { return like{"consumer", d.Type, consumer} }

// checkBeside names the events of list that cannot stand beside an earlier one, or beside
// one of every outbox.
func (p *catalogParser) checkBeside(where string, list []declared, every *beside) *beside {
	b := &beside{&p.r, where, every, make(map[like]declared), newPatternIndex()}
	for _, d := range list {
		if d.Type != "" { // else named already
			b.check(d)
			b.add(d)
		}
	}
	return b
}

func (b *beside) add(d declared) {
	if _, again := b.first[ofType(d)]; !again && isPattern(d.Type) {
		b.patterns.add(d)
	}
	all := []like{ofType(d), ofVersion(d), ofKey(d)}
	for _, consumer := range d.Consumers {
		all = append(all, ofConsumer(d, consumer))
	}
	for _, l := range all {
		if _, again := b.first[l]; !again {
			b.first[l] = d
		}
	}
}

// look returns the first event that was added with l.
func (b *beside) look(l like) (d declared, found bool) {
	if b.every != nil {
		if d, found = b.every.first[l]; found {
			return d, true
		}
	}
	d, found = b.first[l]
	return d, found
}

// check names what keeps d from standing beside what was added.
func (b *beside) check(d declared) {
	first, again := b.look(ofType(d))
	twin, twice := b.look(ofVersion(d))
	switch {
	case twice:
		b.r.fault(d.node, "keep one of them, or give it another version", "%s: event %s is declared twice, also in line %d", b.where, d.Type, twin.node.Line)
	case again:
		b.checkVersion(d, first)
	case isPattern(d.Type):
		b.checkPattern(d)
	}
}

// checkPattern names a pattern of whose events nobody could say whether they are d's.
func (b *beside) checkPattern(d declared) {
	other, found := b.patterns.overlapping(d)
	if b.every != nil && !found {
		other, found = b.every.patterns.overlapping(d)
	}
	if found {
		b.r.fault(d.node, "make one of them longer, since the longer pattern wins",
			"%s: patterns %s and %s of line %d are of equal length and match the same events", b.where, d.Type, other.Type, other.node.Line)
	}
}
