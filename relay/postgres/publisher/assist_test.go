package publisher

import "testing"

// Beside another process the second round leaves the database to the first ones.
func TestSecondRoundEndsWhereOthersAreAtWork(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	o := f.options()
	o.Batch = 5
	f.append(events(100, 1)...)
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.workers.end)
	if p.lookForIndex(t.Context()); !p.indexed.Load() {
		t.Fatal("the index is not found")
	}
	other, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback(t.Context())
	const locks = `SELECT id FROM outbox_events ORDER BY created_at, id LIMIT 40 FOR UPDATE`
	if _, err := other.Exec(t.Context(), locks); err != nil {
		t.Fatal(err)
	}
	if !p.spell(t.Context()) {
		t.Error("it found nothing")
	}
	if got := f.count("published_at IS NOT NULL"); got != o.Batch {
		t.Errorf("beside another %d rows are published, want one round of %d", got, o.Batch)
	}
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.spell(t.Context())
	if got := f.count("published_at IS NULL"); got != 0 {
		t.Errorf("alone it leaves %d rows", got)
	}
}

// While one round waits for the topic, a second one publishes what the first has left behind.
func TestSecondRoundGoesBesideOneThatWaits(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	o := f.options()
	o.Batch = 5
	list := events(20, 3)
	f.append(list...)
	_, release := f.stall()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.solo.Store(soloFor) // it has seen nobody else for long
	f.run(p)
	f.Cleanup(release)
	f.await("others are published meanwhile", func() bool { return f.count("published_at IS NOT NULL") >= 2*o.Batch })
	release()
	f.awaitPublished()
	f.judge(list)
}

// Where all that waits belongs to one aggregate, the assistant finds nothing, and is in nobody's way.
func TestOneAggregateKeepsItsOrderBesideTheAssistant(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	o := f.options()
	o.Batch = 2
	list := events(1, 200)
	f.append(list...)
	f.start(o)
	f.awaitPublished()
	f.judge(list)
	if got := len(f.shelf.messages()); got != len(list) {
		t.Errorf("%d messages of %d rows", got, len(list))
	}
}

// That others are not seen now and then does not call the assistant, which would cost the database a connection
// more.
func TestHelpIsWantedOnceNobodyElseWasSeenForLong(t *testing.T) {
	p := &Publisher{more: make(chan struct{}, 1)}
	for range 3 {
		for range soloFor - 1 {
			p.wantHelp(true, true)
		}
		p.wantHelp(true, false)
	}
	if len(p.more) > 0 {
		t.Error("called though others were seen in between")
	}
	for range soloFor {
		p.wantHelp(true, true)
	}
	if len(p.more) == 0 {
		t.Error("not called")
	}
}

func TestCallsThatFindNothingBecomeRare(t *testing.T) {
	l, heeded := lull{}, 0
	for range 1000 {
		if l.heeds() {
			heeded++
			l.paidOff(false)
		}
	}
	if heeded < 1000/(lullMax+1) || heeded > 30 {
		t.Errorf("%d of 1000 calls are heeded", heeded)
	}
	passed := 0
	for !l.heeds() {
		passed++
	}
	if passed > lullMax {
		t.Errorf("%d calls in a row pass", passed)
	}
	l.paidOff(true)
	if !l.heeds() {
		t.Error("after one that found something the next is not heeded")
	}
}
