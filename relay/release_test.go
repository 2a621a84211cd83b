package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
	"outboxrelay/relay"
)

// release decides a release.
func (f *fixture) release() {
	f.t.Helper()
	if err := set("state", string(dlq.Releasing))(f.ctx, f.freezeDoc(account)); err != nil {
		f.t.Fatal(err)
	}
}

// turnBack does the freezer's part of a release but its end: what is held
// becomes pending, in an order that is not the aggregate's.
func (f *fixture) turnBack() {
	f.t.Helper()
	for _, o := range f.catalog.Outboxes {
		docs, err := f.db.Collection(o.Name).Where("status", "==", "held").Where("aggregateId", "==", account).Documents(f.ctx).GetAll()
		if err != nil {
			f.t.Fatal(err)
		}
		slices.Reverse(docs)
		for _, d := range docs {
			if err := set("status", "pending")(f.ctx, d.Ref); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

// endFreeze ends a release.
func (f *fixture) endFreeze() {
	f.t.Helper()
	if _, err := f.freezeDoc(account).Delete(f.ctx); err != nil {
		f.t.Fatal(err)
	}
}

func TestReleaseDeliversInOrder(t *testing.T) {
	t.Parallel()
	for _, restart := range []string{"never", "while it is frozen", "while it is released", "before the end of the release", "after the end"} {
		t.Run("restarted "+restart, func(t *testing.T) { releases(t, newCloud(t), restart) })
	}
}

func TestReleaseDeliversInOrderOnGoogle(t *testing.T) {
	releases(t, onGoogle(t), "never")
}

func releases(t *testing.T, c *cloud, restart string) {
	f := setup(t, c)
	f.shrink(10, 12)
	f.tuning.PageSize = 15
	f.retries(3, time.Millisecond)
	f.claimsFail(1)
	f.withQueue(nil)
	r := f.run()
	at := func(moment string) {
		if moment == restart {
			r.stop()
			f.withQueue(nil)
			r = f.run()
		}
	}
	roles := f.series("accOutbox", "RoleChanged", account, 1, 30)
	tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 60)
	f.append(roles[:20], 7)
	f.eventually("the first is dead", func() bool { return f.unmarked(roles[:1], contracts.Dead) == 0 })
	f.append(tasks[:20], 6)
	f.held(slices.Concat(roles[1:20], tasks[:20]))
	at("while it is frozen")

	f.release()
	at("while it is released")
	f.append(slices.Concat(roles[20:25], tasks[20:40]), 8)
	f.turnBack()
	at("before the end of the release")
	f.append(slices.Concat(roles[25:28], tasks[40:45]), 8)
	if n := f.arrivals(account); n > 0 {
		t.Errorf("%d messages arrived before the release was over", n)
	}
	if restart == "after the end" {
		r.stop()
		f.endFreeze()
		f.withQueue(nil)
		r = f.run()
	} else {
		f.endFreeze()
	}
	f.append(slices.Concat(roles[28:], tasks[45:]), 8)
	if got, want := f.delivered(slices.Concat(roles[1:], tasks)), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("nothing is left behind", func() bool {
		h := r.relay.Health()
		return h.Frozen == 0 && r.inMemory() == 0 && r.outbox("accOutbox").LeftBehind+r.outbox("wsOutbox").LeftBehind == 0
	})
}

// A record dies during the release of its aggregate: that is frozen again.
func TestDeathDuringAReleaseFreezesAgain(t *testing.T) {
	f := setup(t, newCloud(t))
	f.retries(3, time.Millisecond)
	f.claimsFail(3)
	f.withQueue(nil)
	f.freeze(account, dlq.Frozen)
	r := f.run()
	roles := f.series("accOutbox", "RoleChanged", account, 1, 6)
	f.append(roles, 2)
	f.held(roles)
	f.release()
	f.turnBack()
	f.endFreeze()
	f.eventually("the third is dead", func() bool { return f.unmarked(roles[2:3], contracts.Dead) == 0 })
	f.held(roles[3:])
	f.delivered(roles[:2])
	if n := r.relay.Health().Frozen; n != 1 {
		t.Errorf("%d aggregates are frozen, want it alone", n)
	}
	f.release()
	f.turnBack()
	f.endFreeze()
	if got, want := f.delivered(slices.Concat(roles[:2], roles[3:])), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// While an aggregate is being released nothing of it is delivered, not even
// what was never held: it might overtake what was.
func TestReleasingKeepsWhatComesBehindTheGate(t *testing.T) {
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	f.freeze(account, dlq.Releasing)
	r := f.run()
	r.alive()
	tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 20)
	f.append(tasks, 5)
	others := f.series("wsOutbox", "TaskCompleted", "other", 1, 5)
	f.append(others, 5)
	f.delivered(others)
	f.eventually("they are left behind", func() bool { return r.outbox("wsOutbox").LeftBehind == len(tasks) })
	if n := f.unmarked(tasks, contracts.Pending) + f.arrivals(account); n > 0 {
		t.Errorf("%d records were touched or delivered during the release", n)
	}
	f.endFreeze()
	if got, want := f.delivered(tasks), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}

// A hold that is on its way when a release begins must not land after it: no
// one would ever bring that record back.
func TestNoHoldLandsAfterTheReleaseBegan(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprintf("release ended %v", ended), func(t *testing.T) {
			f := setup(t, newCloud(t))
			f.withQueue(nil)
			f.freeze(account, dlq.Frozen)
			var first sync.Once
			f.wrapStore = func(store relay.Store) relay.Store {
				return &storeFunc{Store: store, commit: func(ctx context.Context, writes []relay.Write) ([]time.Time, error) {
					if slices.ContainsFunc(writes, func(w relay.Write) bool { return w.Fields["status"] == "held" }) {
						first.Do(func() {
							f.release()
							f.turnBack() // finds nothing
							if ended {
								f.endFreeze()
							}
						})
					}
					return store.Commit(ctx, writes)
				}}
			}
			r := f.run()
			tasks := f.series("wsOutbox", "TaskCompleted", account, 1, 10)
			f.append(tasks, 10)
			if !ended {
				f.eventually("they are left behind", func() bool { return r.outbox("wsOutbox").LeftBehind == len(tasks) })
				f.endFreeze()
			}
			if got, want := f.delivered(tasks), (judgement{}); got != want {
				t.Errorf("got %+v, want every record once and in order", got)
			}
			if n := r.metric("relay_settlements_total", "kind", "held"); n > 0 {
				t.Errorf("%v records were held after their release began", n)
			}
		})
	}
}

// What is turned back may stand where neither pages nor a listener come any
// more: here before records that wait for a target, behind which the listener
// starts. The end of the freeze brings it all the same.
func TestReleaseFindsWhatNoListenerSees(t *testing.T) {
	thorough.EndToEnd(t)
	f := setup(t, newCloud(t))
	f.shrink(outageWindow, outageInFlight)
	f.tuning.SweepInterval = time.Hour // no sweep makes up for it
	f.script(func(_ context.Context, target string, _ *contracts.Record) error {
		if target == "FUNNEL" {
			return failure(contracts.Outage, "Unavailable")
		}
		return nil
	})
	f.tuning.OutageTolerance = 1 << 20 // one record probes, however long
	f.withQueue(nil)
	records := f.series("schedOutbox", "ScheduleProposed", account, 1, 8)
	f.append(records, 3)
	for _, r := range records { // by another run
		if err := set("status", "held")(t.Context(), f.db.Doc(r.Path())); err != nil {
			t.Fatal(err)
		}
	}
	var blocked []*contracts.Record
	for a := range 60 {
		blocked = append(blocked, f.record("schedOutbox", "CompensatingScheduleCancelled", fmt.Sprintf("cancel-%d", a), 1))
	}
	f.append(blocked, 7)
	f.freeze(account, dlq.Releasing)
	r := f.run()
	r.alive()
	f.eventually("the head of the lane is left behind", func() bool { return r.outbox("schedOutbox").LeftBehind >= len(blocked)-1 })
	proven := *r.listener("schedOutbox", "STANDARD_LANE").ProvenAt
	f.turnBack()
	f.eventually("the canary is seen again", func() bool { return r.listener("schedOutbox", "STANDARD_LANE").ProvenAt.After(proven) })
	f.endFreeze()
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
}
