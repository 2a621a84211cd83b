package feed

// Step takes in an event and returns what is to be done about it, in that order:
// the last says what becomes of the record of a Turn, or of one that was tried,
// withdrawn or given back. The actions are the caller's until the next call.
func (m *Machine) Step(e Event) ([]Action, Taken) {
	clear(m.actions)
	m.actions = m.actions[:0]
	taken := Taken{}
	switch e := e.(type) {
	case Batch:
		taken = e.Feed.batch(e)
	case Back:
		taken = e.Gate.feed.back(e)
	case BackEnded:
		e.Gate.feed.backEnded(e.Gate, e.UpTo)
	case Sized:
		e.Feed.portion.learn(e.Records, e.Bytes)
	case Found:
		m.found(e.Record)
	case Missed:
		m.becomes(e.Record, e.Record.Home.missed(e))
	case Reread:
		e.Feed.rewind(e.From)
	case Refused:
		m.becomes(e.Record, m.refused(e))
	case Idle:
		m.idle(e)
	case Turn:
		m.becomes(e.Record, m.turn(e))
	case Tried:
		m.becomes(e.Record, m.tried(e))
	case Lingers:
		m.lingers(e.Record)
	case Holds:
		m.becomes(e.Record, m.hold(e.Record))
	case Withdrawn:
		m.becomes(e.Record, m.withdrawn(e.Record, e.Unsaved))
	case GivenBack:
		m.becomes(e.Record, m.givenBack(e))
	case Answers:
		m.answers(e.Target)
	case Stands:
		m.stands(e.AggregateID, e.Standing)
	case Thawed:
		m.thawed(e)
	case Settle:
		m.settle(e.Settlement)
	case Settled:
		m.wasSettled(e)
	case Dropped:
		m.over(e.Settlement)
	case Overtaken:
		m.overtaken(e)
	case Elsewhere:
		m.elsewhere(e)
	case Unheld:
		m.unheld(e)
	case Changed:
		e.Record.changed = e.At
	}
	return m.actions, taken
}

// becomes adds what becomes of a record.
func (m *Machine) becomes(r *Record, a Action) {
	a.Record = r
	m.do(a)
}

// answers opens the gates of a target.
func (m *Machine) answers(target string) {
	for _, f := range m.feeds {
		f.open(targetGate(target))
	}
}
