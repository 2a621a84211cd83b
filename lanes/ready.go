package lanes

// readyList holds the aggregates that can run, first come first served.
type readyList struct {
	first, last *aggregate
	size        int
}

func (l *readyList) push(a *aggregate) {
	if l.last == nil {
		l.first = a
	} else {
		l.last.next = a
	}
	l.last = a
	l.size++
}

// pop must not be called on an empty list.
func (l *readyList) pop() *aggregate {
	a := l.first
	l.first, a.next = a.next, nil
	if l.first == nil {
		l.last = nil
	}
	l.size--
	return a
}

// insert puts a in the place of its turn.
func (l *readyList) insert(a *aggregate) {
	at := &l.first
	for *at != nil && (*at).turn < a.turn {
		at = &(*at).next
	}
	if a.next = *at; a.next == nil {
		l.last = a
	}
	*at = a
	l.size++
}

// remove takes a out of the list.
func (l *readyList) remove(a *aggregate) {
	var before *aggregate
	for at := l.first; at != nil; before, at = at, at.next {
		if at != a {
			continue
		}
		if before == nil {
			l.first = a.next
		} else {
			before.next = a.next
		}
		if l.last == a {
			l.last = before
		}
		a.next = nil
		l.size--
		return
	}
}
