package lease

import (
	"context"
	"slices"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// actor is one instance of the model. The steps of its lease are those of
// Keeper, one commit at a time; those of its records are in modelsettle_test.go.
type actor struct {
	m      *model
	base   string
	name   string
	skew   time.Duration // of its wall clock
	run    int
	up     bool
	paused bool

	nonces  *nonces
	calling bool   // a commit of the lease loop is under way
	me      *paper // its registration
	lease   *paper // of the share; nil: not held
	told    bool   // the work is to end
	lost    bool
	ending  bool // the work is through: the lease is not renewed any longer
	view    *view
	seen    int // changes when the view was read
	changes int

	work work
}

// paper is a document that the actor renews.
type paper struct {
	id      string
	updated time.Time
	until   time.Time
}

func newActor(m *model, name string, skew time.Duration) *actor {
	a := &actor{m: m, base: name, skew: skew}
	a.restart()
	return a
}

func (a *actor) restart() {
	*a = actor{m: a.m, base: a.base, name: a.base, skew: a.skew, run: a.run + 1, up: true}
	a.nonces = newNonces(modelTerm, func() time.Time { return a.m.clock })
	a.m.note("%s starts", a.name)
}

func (a *actor) valid() bool {
	return a.lease != nil && !a.lost && (!a.ending || a.m.flaw == flawRelease) && a.m.clock.Before(a.lease.until)
}

func (a *actor) possible() []step {
	switch {
	case !a.up:
		return []step{{8, a.restart}}
	case a.paused:
		return []step{{8, func() { a.paused = false; a.m.note("%s goes on", a.name) }}}
	}
	return append(append(a.leaseSteps(), a.workSteps()...), step{2, a.suffer})
}

// suffer pauses or crashes, now and then.
func (a *actor) suffer() {
	switch a.m.choose(2 * a.m.temper.calm) {
	case 0:
		a.paused = true
		a.m.note("%s pauses", a.name)
	case 1:
		a.up, a.work = false, work{}
		a.m.note("%s crashes", a.name)
	}
}

func (a *actor) leaseSteps() []step {
	var steps []step
	if a.view != nil && !a.calling {
		steps = append(steps, step{24, a.act})
	}
	if a.calling {
		return append(steps, step{4, a.look})
	}
	if a.me == nil {
		steps = append(steps, step{24, a.register})
	} else {
		steps = append(steps, step{4, a.look})
	}
	if a.me != nil || a.lease != nil && !a.lost && !a.ending {
		steps = append(steps, step{5, a.renew})
	}
	if a.lease != nil && a.told && a.workDone() {
		steps = append(steps, step{24, a.end})
	}
	return steps
}

// send sends a commit of the lease loop.
func (a *actor) send(what string, writes []dlq.Write, hear func(at time.Time, err error)) {
	a.calling = true
	a.m.note("%s sends its %s", a.name, what)
	a.m.net = append(a.m.net, &message{from: a, run: a.run, what: what, writes: writes, hear: func(at time.Time, err error) {
		a.calling = false
		hear(at, err)
	}})
}

// trust is the end of the validity of what was sent at a moment.
func (a *actor) trust(sent time.Time) time.Time {
	switch a.m.flaw {
	case flawValidity:
		return sent.Add(modelTerm * 3 / 2)
	case flawAnswer:
		return a.m.clock.Add(validFor(modelTerm))
	}
	return sent.Add(validFor(modelTerm))
}

func (a *actor) read(id string) document {
	docs, _ := a.m.server.Get(context.Background(), contracts.CollectionLeases, id)
	return decodeDocument(docs[0], modelTerm)
}

func (a *actor) register() {
	a.registerOver(time.Time{})
}

func (a *actor) registerOver(updated time.Time) {
	nonce, sent := a.nonces.next()
	id := registrationPrefix + a.name
	w := conditioned(id, updated, map[string]any{
		fieldSince: dlq.ServerTime{}, fieldNonce: nonce, fieldTerm: modelTerm.Milliseconds(), fieldShares: []string{modelShare},
	})
	a.send("registration", []dlq.Write{w}, func(at time.Time, err error) {
		switch {
		case err == nil:
			a.me = &paper{id, at, a.trust(sent)}
		case dlq.IsRefused(err):
			there := a.read(id)
			_, mine := a.nonces.mine(there.nonce)
			switch {
			case mine || !there.live():
				a.registerOver(there.updated)
			default:
				a.name = a.base + "~" + a.nonces.run[:8]
			}
		}
	})
}

func (a *actor) look() {
	docs, _ := a.m.server.Query(context.Background(), allLeases)
	if a.m.flaw == flawClock {
		for i := range docs {
			docs[i].ReadTime = a.m.clock.Add(a.skew)
		}
	}
	v := newView(docs, modelTerm)
	a.view, a.seen = &v, a.changes
	a.m.note("%s looks", a.name)
}

// act is Keeper.see and Keeper.act.
func (a *actor) act() {
	v := *a.view
	a.view = nil
	members := v.members()
	if a.seen != a.changes || !slices.ContainsFunc(members, func(m member) bool { return m.id == a.name }) {
		return
	}
	planned := plan(members, v.owners())[modelShare] == a.name
	d := v.leases[modelShare]
	_, mine := a.nonces.mine(d.nonce)
	switch {
	case a.lease != nil && !planned && !a.told:
		a.m.note("%s hands over", a.name)
		a.told = true
	case a.lease == nil && planned && (mine || d.free()):
		a.take(d)
	}
}

func (a *actor) take(d leaseDoc) {
	nonce, sent := a.nonces.next()
	w := conditioned(modelShare, d.updated, map[string]any{
		fieldOwner: a.name, fieldNonce: nonce, fieldSince: dlq.ServerTime{}, fieldTerm: modelTerm.Milliseconds(),
	})
	if a.m.flaw == flawTake {
		w.Op, w.IfUnchangedSince = dlq.OpSet, time.Time{}
	}
	a.changes++
	a.send("taking", []dlq.Write{w}, func(at time.Time, err error) {
		a.changes++
		if err == nil {
			a.lease, a.told, a.lost, a.ending, a.work = &paper{modelShare, at, a.trust(sent)}, false, false, false, work{}
			a.m.note("%s begins", a.name)
		}
	})
}

// renew renews what the actor has, in one commit.
func (a *actor) renew() {
	var papers []*paper
	for _, p := range []*paper{a.me, a.lease} {
		if p != nil && (p == a.me || !a.lost && !a.ending) {
			papers = append(papers, p)
		}
	}
	nonce, sent := a.nonces.next()
	var writes []dlq.Write
	for _, p := range papers {
		w := conditioned(p.id, p.updated, map[string]any{fieldNonce: nonce})
		if p == a.lease {
			w.Fields[fieldOwner] = a.name
		}
		if a.m.flaw == flawRenew {
			w.IfUnchangedSince = time.Time{}
		}
		writes = append(writes, w)
	}
	a.send("renewal", writes, func(at time.Time, err error) {
		for _, p := range papers {
			switch {
			case err == nil:
				p.updated, p.until = at, a.trust(sent)
			case dlq.IsRefused(err):
				a.reconcile(p)
			}
		}
	})
}

// reconcile finds out why a renewal was refused.
func (a *actor) reconcile(p *paper) {
	d := a.read(p.id)
	sent, mine := a.nonces.mine(d.nonce)
	switch {
	case a.m.flaw == flawNonce && p == a.lease:
		a.lose()
	case d.exists() && d.updated.Equal(p.updated):
	case d.exists() && mine:
		p.updated = d.updated
		if until := sent.Add(validFor(modelTerm)); !sent.IsZero() && until.After(p.until) {
			p.until = until
		}
	case p == a.me:
		a.me = nil
	default:
		a.lose()
	}
}

func (a *actor) lose() {
	if _, mine := a.nonces.mine(a.read(modelShare).nonce); mine {
		a.m.violate("%s gave up a lease as lost that was its own", a.name)
	}
	a.m.note("%s lost its lease", a.name)
	a.told, a.lost = true, true
}

// end ends the work: the share is released, unless it is lost.
func (a *actor) end() {
	if a.lost {
		a.drop()
		return
	}
	a.ending = true
	nonce, _ := a.nonces.next()
	p := a.lease
	w := conditioned(modelShare, p.updated, map[string]any{fieldOwner: "", fieldNonce: nonce})
	a.send("release", []dlq.Write{w}, func(_ time.Time, err error) {
		switch {
		case err == nil:
			a.drop()
		case dlq.IsRefused(err):
			docs, _ := a.m.server.Get(context.Background(), contracts.CollectionLeases, modelShare)
			d := decodeLease(docs[0], modelTerm)
			switch _, mine := a.nonces.mine(d.nonce); {
			case mine && d.owner == "":
				a.drop()
			case mine:
				p.updated = d.updated
			default:
				a.lose()
			}
		}
	})
}

func (a *actor) drop() {
	a.lease, a.work = nil, work{}
	a.changes++
}

// runOn does all that there is to do, on a good network.
func (a *actor) runOn() {
	for range 6 {
		steps := append(a.leaseEnd(), a.workEnd()...)
		for _, s := range steps {
			s()
			a.m.flush()
		}
	}
}

// leaseEnd are the steps of the lease in the order of a keeper's turn.
func (a *actor) leaseEnd() []func() {
	switch {
	case a.me == nil:
		return []func(){a.register}
	case a.lease != nil && a.told && a.workDone():
		return []func(){a.end}
	}
	return []func(){a.renew, a.look, func() {
		if a.view != nil {
			a.act()
		}
	}}
}

// flush applies and answers all that is on its way.
func (m *model) flush() {
	for len(m.net) > 0 {
		g := m.net[0]
		m.net = m.net[1:]
		if !g.applied {
			g.at, g.err = m.commit(g.writes)
		}
		if g.hear != nil && g.run == g.from.run {
			g.hear(g.at, g.err)
		}
	}
}
