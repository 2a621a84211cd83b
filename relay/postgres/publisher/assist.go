package publisher

import "context"

// assist has a second round under way while more waits than one takes: while one waits for the
// topic, the other is at the database. To the database they are two publishers. The assistant is
// called where near claims see no other process at work: beside one, a second round would take time from a
// database that is busy already.
func (p *Publisher) assist(ctx context.Context) {
	calls := lull{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.more:
		}
		if calls.heeds() {
			calls.paidOff(p.spell(ctx))
			select {
			case <-p.more: // it came while the assistant was at work
			default:
			}
		}
	}
}

// lullMax bounds how many calls in a row go unheeded.
const lullMax = 64

// lull lets calls pass that would find nothing, as where all that waits belongs to one aggregate:
// after each that found nothing one more than twice as many.
type lull struct{ left, next int }

// heeds tells whether this call is one to follow.
func (l *lull) heeds() bool {
	if l.left == 0 {
		return true
	}
	l.left--
	return false
}

// paidOff notes whether a call that was followed found anything.
func (l *lull) paidOff(found bool) {
	if found {
		*l = lull{}
		return
	}
	l.next = min(2*l.next+1, lullMax)
	l.left = l.next
}

// soloFor is how many full near claims in a row see no other process before the assistant is called. Beside
// others a claim now and then sees none, as all of them wait for the topic; and the assistant needs a connection of its
// own, whose process took the database 70 ms to come to work, in which it does some hundred rows.
const soloFor = 8

// wantHelp calls the assistant after a full claim, unless it is at work or others are, which a near one tells.
func (p *Publisher) wantHelp(near, alone bool) {
	switch {
	case !alone:
		p.solo.Store(0)
	case near:
		p.solo.Add(1)
	}
	if p.solo.Load() < soloFor {
		return
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// spell makes rounds with near claims for as long as those pay off and no other process is at work, and tells
// whether they published anything.
func (p *Publisher) spell(ctx context.Context) (found bool) {
	pace := newPace(p.opts.Batch, p.opts.Poll, p.backoff)
	pace.near = true // in a backlog
	for alone := true; alone && pace.near && ctx.Err() == nil; {
		r := p.round(ctx, pace.look())
		found = found || r.published > 0
		pace.next(r)
		alone = r.alone
	}
	return found
}
