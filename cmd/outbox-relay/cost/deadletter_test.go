package cost_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"outboxrelay/claims"
	claimsfirestore "outboxrelay/claims/firestore"
	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/ier"
)

// TestDeadLettersCostWhatIsBilled: a dead letter of a tier each minute, which is
// replayed where its tier says so.
func TestDeadLettersCostWhatIsBilled(t *testing.T) {
	thorough.Long(t)
	for _, tier := range contracts.Tiers() {
		for _, instances := range []int{1, 2} {
			name := fmt.Sprintf("%s, %d instances", tier, instances)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				catalog := someOutboxes(t, nil)
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, catalog)
					defer w.close()
					// What looks and sweeps read depends on what they come upon.
					w.tuning.CanaryInterval, w.tuning.SweepInterval = time.Hour, time.Hour
					if tier == contracts.SecurityBlock {
						w.tuning.SweepInterval = 0 // each reads what is frozen
					}
					w.everyTarget(target{fails: func(p ier.Parcel) error {
						if p.Message.Attributes[contracts.AttrReplay] != "" {
							return nil
						}
						return &contracts.Failure{Code: "Internal", Own: true}
					}})
					for n := range instances {
						w.start(fmt.Sprintf("instance-%d", n))
					}
					time.Sleep(settled)
					of := func(r *contracts.EventRoute) bool { return r.Tier == tier }
					boxes := w.boxes(of)
					const n = 10
					const d = n * time.Minute
					frozen := w.oneOfEachLane(of)
					time.Sleep(settled)
					groups := w.groups()
					got := w.bill(func() {
						began := time.Now()
						for i := range n {
							time.Sleep(time.Until(began.Add(time.Duration(i)*time.Minute + time.Duration(i*7%20)*time.Second)))
							w.append(w.record(boxes[i%len(boxes)], of))
							frozen += 1 - float64(i)/n
						}
						time.Sleep(time.Until(began.Add(d)))
					})
					f := cost.Fleet{Catalog: catalog, Instances: instances, Schedule: cost.NewSchedule(w.tuning, 0)}
					if tier != contracts.SafeAuto {
						f.Waiting = 1
					}
					if tier == contracts.SecurityBlock {
						f.Frozen = frozen
					}
					want := idleBill(f, d)
					want[ofOutboxes] = cost.Operations{}
					outbox, queue := cost.DeadLetter(catalog, tier, contracts.MarkDelivered, instances)
					want[ofOutboxes] = want[ofOutboxes].Plus(cost.Append().Plus(outbox).Times(n))
					want[ofQueue] = want[ofQueue].Plus(queue.Times(n)).Plus(cost.Operations{Writes: w.groups() - groups})
					if tier == contracts.SecurityBlock {
						delete(want, ofOutboxes) // as for the other tiers
						delete(got, ofOutboxes)
					}
					judge(t, name, want, got)
				})
			})
		}
	}
}

// oneOfEachLane appends a record of that kind to each lane that has such, as a page
// completes what a listener tells first. It returns how many.
func (w *world) oneOfEachLane(of func(*contracts.EventRoute) bool) (n float64) {
	for _, o := range w.boxes(of) {
		for _, lane := range o.Lanes() {
			ofLane := func(r *contracts.EventRoute) bool { return of(r) && r.Lane == lane }
			if slices.ContainsFunc(o.Events, ofLane) {
				w.append(w.record(o, ofLane))
				n++
			}
		}
	}
	return n
}

// boxes are the outboxes that hold events of that kind.
func (w *world) boxes(of func(*contracts.EventRoute) bool) (out []*contracts.Outbox) {
	for _, o := range w.catalog.Outboxes {
		if slices.ContainsFunc(o.Events, of) {
			out = append(out, o)
		}
	}
	return out
}

// groups is how many kinds of dead letters there were. Each instance writes a
// kind's document once in its life, which the formulas leave out.
func (w *world) groups() float64 {
	return float64(w.server.Billing().Collections[contracts.CollectionGroups].Writes)
}

// TestRoleChangesCostWhatIsBilled: the real handler of claims on the same
// Firestore, with users in memory.
func TestRoleChangesCostWhatIsBilled(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	catalog := someOutboxes(t, nil)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog)
		defer w.close()
		handler, err := claims.New(claims.Config{
			Catalog: catalog, Store: claimsfirestore.New(w.client().Client), Accounts: &users{held: make(map[string]map[string]any)}, Signals: signals{},
		})
		if err != nil {
			t.Fatal(err)
		}
		if w.targets[claims.DefaultTarget], err = ier.NewHandlerTarget(ier.HandlerConfig{Name: claims.DefaultTarget, Handler: handler}); err != nil {
			t.Fatal(err)
		}
		w.start("instance-0")
		time.Sleep(settled)
		n := 0
		got := w.bill(func() {
			ofClaims := func(r *contracts.EventRoute) bool { return r.Targets[0] == claims.DefaultTarget }
			for range 100 {
				w.append(w.record(catalog.Outbox("accOutbox"), ofClaims))
				n++
				time.Sleep(time.Second)
			}
		})
		judge(t, "role changes", bill{ofClaims: cost.RoleChange().Times(float64(n))}, bill{ofClaims: got[ofClaims]})
	})
}

// users are accounts of Auth that exist as soon as they are asked for.
type users struct {
	mu   sync.Mutex
	held map[string]map[string]any
}

// User implements claims.Accounts.
func (u *users) User(_ context.Context, uid string) (claims.User, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return claims.User{Claims: u.held[uid]}, nil
}

// SetClaims implements claims.Accounts.
func (u *users) SetClaims(_ context.Context, uid string, claims map[string]any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held[uid] = claims
	return nil
}

// RevokeTokens implements claims.Accounts.
func (u *users) RevokeTokens(context.Context, string) error { return nil }

// signals acknowledges every signal.
type signals struct{}

// PublishOrdered implements claims.Signals.
func (signals) PublishOrdered(context.Context, string, []byte, map[string]string) error { return nil }

// TestWhatWaitsBehindAReviewCostsLittle: 200 dead letters of an aggregate whose first one
// waits for a person. Each looks again every ten minutes, as what ends calls the next.
func TestWhatWaitsBehindAReviewCostsLittle(t *testing.T) {
	thorough.Long(t)
	catalog := catalog(t, nil)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, catalog)
		defer w.close()
		w.everyTarget(target{fails: func(ier.Parcel) error { return &contracts.Failure{Code: "Internal", Own: true} }})
		w.start("instance-0")
		time.Sleep(settled)
		const n = 200
		outbox := catalog.Outbox("orgOutbox")
		of := func(tier contracts.Tier, version int64) *contracts.Record {
			for {
				r := w.catalog.Sample(w.random, outbox, "aggregate", version, time.Now())
				if outbox.Route(r.EventType).Tier == tier {
					return r
				}
			}
		}
		queue := func(d time.Duration) cost.Operations { return w.bill(func() { time.Sleep(d) })[ofQueue] }
		w.append(of(contracts.ReviewRequired, 1))
		time.Sleep(2 * time.Hour)
		alone := queue(10 * time.Minute)
		for v := range int64(n) {
			w.append(of(contracts.SafeAuto, v+2))
		}
		time.Sleep(2 * time.Hour)
		got := queue(10 * time.Minute)
		t.Logf("in ten minutes: %.0f reads, %.0f writes; the first one alone %.0f reads", got.Reads, got.Writes, alone.Reads)
		// Measured: 15 reads for each, looks and listeners included.
		if reads, most := got.Reads-alone.Reads, 20.0*n; reads > most || got.Writes > 1.1*n {
			t.Errorf("%.0f reads and %.0f writes more, want %.0f and %.0f at most", reads, got.Writes, most, 1.1*n)
		}
	})
}
