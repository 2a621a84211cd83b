package cost_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/ier"
	"outboxrelay/relay"
)

// load appends records evenly over all outboxes for a time, one every pace. It
// returns how many.
func (w *world) load(d, pace time.Duration, takes func(*contracts.EventRoute) bool) (n int) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
		began := time.Now()
		w.append(w.record(w.catalog.Outboxes[n%len(w.catalog.Outboxes)], takes))
		time.Sleep(pace - time.Since(began))
	}
	return n
}

// withoutClaims takes the records of Pub/Sub targets.
func withoutClaims(r *contracts.EventRoute) bool { return r.Targets[0] != "CLAIMS_HANDLER" }

// TestRecordsCostWhatIsBilled: five minutes of records, caught up.
func TestRecordsCostWhatIsBilled(t *testing.T) {
	thorough.Long(t)
	flaky := &contracts.Failure{Code: "Internal", Own: true}
	for _, c := range []struct {
		name      string
		on        contracts.OnDelivered
		instances int
		shards    map[string]int
		failing   bool // about every other record, once
	}{
		{name: "deleted", on: contracts.DeleteDelivered, instances: 1},
		{name: "marked, two instances, shards", on: contracts.MarkDelivered, instances: 2, shards: map[string]int{"wsOutbox": 2}},
		{name: "marked, every other fails once", on: contracts.MarkDelivered, instances: 1, failing: true},
		{name: "deleted, every other fails once", on: contracts.DeleteDelivered, instances: 1, failing: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			catalog := someOutboxes(t, c.shards)
			for _, o := range catalog.Outboxes {
				o.OnDelivered = c.on
			}
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, catalog)
				defer w.close()
				w.tuning.SweepInterval = time.Hour // it reads what is on its way
				var failed sync.Map                // by ID
				w.everyTarget(target{fails: func(ier.Parcel) error { time.Sleep(slow); return nil }})
				if c.failing {
					w.everyTarget(target{fails: func(p ier.Parcel) error {
						time.Sleep(slow)
						if p.Record.Attempts > 0 || p.Record.TraceID[0]%2 > 0 {
							return nil
						}
						failed.Store(p.Record.ID, nil)
						return flaky
					}})
				}
				for n := range c.instances {
					w.start(fmt.Sprintf("instance-%d", n))
				}
				time.Sleep(settled)
				const d = 5 * time.Minute
				n := 0
				got := w.bill(func() {
					n = w.load(d-time.Minute, 400*time.Millisecond, withoutClaims)
					time.Sleep(time.Minute) // for what fails at the end
				})
				f := cost.Fleet{
					Catalog: catalog, Instances: c.instances, Schedule: cost.NewSchedule(w.tuning, 0),
					Kept: keptOnAverage(catalog, n), Pending: pendingFor(catalog, (d-time.Minute+slow).Seconds()/d.Seconds()),
				}
				want := idleBill(f, d)
				each := cost.Append().Plus(cost.Delivered(c.on, 0))
				want[ofOutboxes] = want[ofOutboxes].Plus(each.Times(float64(n))).Plus(cost.Retried(c.on, 0).Times(size(&failed)))
				judge(t, c.name, want, got)
			})
		})
	}
}

// slow is how long a target takes: longer than until an outbox has the next record
// of a load, so that something is pending in it all the time.
const slow = 3 * time.Second

func pendingFor(catalog *contracts.Catalog, share float64) map[string]float64 {
	pending := make(map[string]float64)
	for _, o := range catalog.Outboxes {
		pending[o.Name] = share
	}
	return pending
}

// keptOnAverage spreads half of the records over the outboxes: from none to all
// of them are there in the course of a run.
func keptOnAverage(catalog *contracts.Catalog, n int) map[string]float64 {
	kept := make(map[string]float64)
	for _, o := range catalog.Outboxes {
		if o.OnDelivered == contracts.MarkDelivered {
			kept[o.Name] = float64(n) / float64(len(catalog.Outboxes)) / 2
		}
	}
	return kept
}

func size(m *sync.Map) (n float64) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

func (w *world) everyTarget(g target) {
	for name := range w.targets {
		w.targets[name] = g
	}
}

// TestBacklogCostsWhatIsBilled: records that were there before any relay.
func TestBacklogCostsWhatIsBilled(t *testing.T) {
	thorough.Long(t)
	catalog := someOutboxes(t, nil)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog)
		defer w.close()
		const commits, inCommit = 400, 20
		ws := catalog.Outbox("wsOutbox")
		standard := func(r *contracts.EventRoute) bool { return r.Lane == contracts.StandardLane }
		for range commits {
			var records []*contracts.Record
			for range inCommit {
				records = append(records, w.record(ws, standard))
			}
			w.append(records...)
		}
		time.Sleep(time.Minute)
		// As in any real cloud, not all of it is delivered in the same moment.
		w.everyTarget(target{fails: func(ier.Parcel) error { time.Sleep(200 * time.Millisecond); return nil }})
		const d = 2 * time.Minute
		got := w.bill(func() {
			w.start("instance-0")
			time.Sleep(d)
		})
		f := cost.Fleet{Catalog: catalog, Instances: 1, Schedule: cost.NewSchedule(relay.Tuning{}, 0), Kept: map[string]float64{ws.Name: commits * inCommit}}
		want := idleBill(f, d)
		want[ofOutboxes] = want[ofOutboxes].Plus(cost.Delivered(contracts.MarkDelivered, 1).Times(commits * inCommit))
		judge(t, "backlog", bill{ofOutboxes: want[ofOutboxes]}, bill{ofOutboxes: got[ofOutboxes]})
	})
}
