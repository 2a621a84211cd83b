package notifications

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/firestore"

	"outboxrelay/deploy/local/thorough"
)

// Three instances, one of which is killed every second, while events come: each event is
// in each bell once.
func TestKilledOverAndOver(t *testing.T) {
	thorough.Long(t)
	killedOverAndOver(t, setup(t, onEmbedded(t)))
}

func TestGoogleKilledOverAndOver(t *testing.T) { killedOverAndOver(t, setup(t, onGoogle(t))) }

func killedOverAndOver(t *testing.T, f *fixture) {
	f.settings.Lock, f.settings.BaseRetry, f.settings.MaxRetries = 5*time.Second, 10*time.Millisecond, 100
	const tenants, atATime = 5, 100
	kills := thorough.Kills(t)
	var of []Tenant
	for i := range tenants {
		of = append(of, f.tenant(fmt.Sprint(i), twoAdmins...))
	}
	start := func() (kill func()) {
		c := &calls{}
		stop := f.serve(f.client(c.options()...))
		return func() { c.gone.Store(true); go stop() }
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		running := []func(){start(), start(), start()}
		each := time.NewTicker(time.Second)
		defer each.Stop()
		for range kills {
			<-each.C
			running[0]()
			running = append(running[1:], start())
		}
	}()
	var refs []*firestore.DocumentRef
	for killing := true; killing; { // the last events come when the last kill is over, or before
		select {
		case <-over:
			killing = false
		default:
		}
		wave := make([]*firestore.DocumentRef, atATime)
		atOnce(len(wave), func(i int) { wave[i] = f.event(of[i%tenants]) })
		for _, ref := range wave {
			f.awaitStatus(ref, StatusEmitted)
		}
		refs = append(refs, wave...)
	}
	f.rangForBoth(refs)
	var ages []time.Duration
	for _, ref := range refs {
		ages = append(ages, f.toTheBell(ref))
	}
	t.Logf("%d events, %d kills, %s", len(refs), kills, quantiles(ages))
}

// One event of a tenant does not wait for the many of another that came before it.
func TestOneEventBesideMany(t *testing.T) {
	thorough.Long(t)
	besideMany(t, setup(t, onEmbedded(t)))
}

func TestGoogleOneEventBesideMany(t *testing.T) { besideMany(t, setup(t, onGoogle(t))) }

func besideMany(t *testing.T, f *fixture) {
	many := thorough.Crowd(t)
	large, small := f.tenant("a-large", twoAdmins...), f.tenant("b-small", twoAdmins...)
	refs := make([]*firestore.DocumentRef, 0, many+1)
	for len(refs) < many {
		batch := f.db.Batch() //nolint:staticcheck // one request for many documents of a test
		for range min(250, many-len(refs)) {
			ref := f.db.Collection(large.Path() + "/notificationEvents").NewDoc()
			refs = append(refs, ref)
			batch.Set(ref, eventFields(large))
		}
		if _, err := batch.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.serve(f.client())
	f.await(refs[0], "first of the many", func(map[string]any) bool { return f.stats(large).ProcessedEvents > 0 })
	one := f.event(small)
	f.awaitStatus(one, StatusEmitted)
	before := f.stats(large).ProcessedEvents
	t.Logf("the one was in the bell after %v, when %d of %d had been dispatched", f.toTheBell(one), before, many)
	if before > int64(many)*3/4 {
		t.Errorf("one event waited until %d of the %d of another tenant were dispatched", before, many)
	}
	f.awaitProcessed(large, int64(many))
	f.rangForBoth(append(refs, one))
}

// awaitProcessed waits until so many events of the tenant are. It gives up when none was for long:
// how long all of them take is the cloud's affair.
func (f *fixture) awaitProcessed(tenant Tenant, want int64) {
	f.t.Helper()
	began, last, at := time.Now(), int64(0), time.Now()
	for again := time.Tick(time.Second); ; <-again {
		switch done := f.stats(tenant).ProcessedEvents; {
		case done >= want:
			f.t.Logf("%d events in %v", done, time.Since(began).Round(time.Second))
			return
		case done > last:
			last, at = done, time.Now()
		case time.Since(at) > 4*time.Minute:
			f.t.Fatalf("%d of %d events are processed, and no more for 4 minutes", done, want)
		}
	}
}
