package workqueue

// span is where documents of a tenant are still to be looked at, in the order of names: paths,
// of the first, and of the last that can be.
type span struct{ tenant, first, last string }

// leave tells that documents are still to be looked at: those of s, and those up to the last that
// their tenant can have there. What is due under earlier names is known here, or it became so
// since it was looked at and nobody told: then it is found by a round through all.
func (l *line) leave(last string, s span) {
	s.last = max(s.last, last) // a name may stand behind what should be the last
	t := l.way(s.tenant)
	if known, ok := t.behind[last]; ok {
		s.first, s.last = min(s.first, known.first), max(s.last, known.last)
	}
	if t.behind == nil {
		t.behind = map[string]span{}
	}
	t.behind[last] = s
	l.weigh(s.tenant, t)
}

// hungry reports whether a tenant with more in Firestore than fits here is almost
// without. It is asked for each document that is given out, and looks at no tenant.
func (l *line) hungry() bool { return len(l.wanting) > 0 }

func (l *line) wants(t *tenantWay) bool { return len(t.behind) > 0 && len(t.ready) <= l.batch/10 }

// weigh notes whether a tenant is hungry, after a change of what is ready or left behind.
func (l *line) weigh(name string, t *tenantWay) {
	if l.wants(t) {
		l.wanting[name] = true
	} else {
		delete(l.wanting, name)
	}
}

// round begins a round and returns what it looks at: all, which is an empty span, or of each
// hungry tenant a span, by chance where it has several. What it leaves there it tells again.
func (l *line) round(all bool) (of []span) {
	if all {
		for name, t := range l.tenants {
			t.behind = nil
			l.forget(name, t)
		}
		clear(l.wanting)
		return []span{{}}
	}
	for name := range l.wanting {
		t := l.tenants[name]
		for last, s := range t.behind {
			of = append(of, s)
			delete(t.behind, last)
			break
		}
		l.weigh(name, t)
		l.forget(name, t)
	}
	return of
}
