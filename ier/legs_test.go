package ier

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// samplerFunc is a sampler made of one function.
type samplerFunc func(LagSample)

func (f samplerFunc) Sample(s LagSample) { f(s) }

// The lane takes the run up again after a panic: nothing of it may go on by then.
func TestPanicOfOneLegIsRepeatedOnceAllHaveEnded(t *testing.T) {
	for _, faulty := range []string{"A", "B"} { // the one that Deliver itself calls, and the other
		t.Run(faulty, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Int32
				answers := func(after time.Duration) targetFunc {
					return func(_ context.Context, parcels []Parcel) []error {
						time.Sleep(after)
						ended.Add(1)
						return make([]error, len(parcels))
					}
				}
				r := setup(t, Config{
					Targets: map[string]Target{"A": answers(time.Millisecond), "B": answers(time.Second)},
					Sampler: samplerFunc(func(s LagSample) {
						if s.Target == faulty {
							panic("a fault of the sampler")
						}
					}),
				})
				panicked := func() (p any) {
					defer func() { p = recover() }()
					r.Deliver(t.Context(), []*Job{newJob(1, "A", "B")}, nil)
					return nil
				}()
				if panicked == nil {
					t.Error("the panic is swallowed")
				}
				if n := ended.Load(); n != 2 {
					t.Errorf("%d of 2 targets had answered when Deliver ended", n)
				}
			})
		})
	}
}
