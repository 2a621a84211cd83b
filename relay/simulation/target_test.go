package simulation

import (
	"context"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// place is where a target's messages arrive, from whichever instance.
type place struct {
	name string

	mu     sync.Mutex
	second time.Duration // of the quota's count
	taken  int
}

// within reports whether one more is within the quota of this second.
func (p *place) within(now time.Duration, rate int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := now.Truncate(time.Second); at != p.second {
		p.second, p.taken = at, 0
	}
	p.taken++
	return p.taken <= rate
}

// target is a place as one life of an instance reaches it.
type target struct {
	wire  *wire
	place *place
}

var _ ier.Target = target{}

// publishTime bounds a call, as the product's own targets do.
const publishTime = 5 * time.Second

// Deliver implements ier.Target.
func (t target) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	errs := make([]error, len(parcels))
	began := t.wire.world.elapsed()
	defer func() { t.wire.world.judge.cameBack(t.wire, t.place.name, parcels, began, errs[0] == nil) }()
	for i, p := range parcels {
		if errs[i] = t.deliver(ctx, p, began); errs[i] != nil {
			for j := i + 1; j < len(errs); j++ {
				errs[j] = ier.ErrBehind
			}
			break
		}
	}
	return errs
}

func (t target) deliver(ctx context.Context, p ier.Parcel, began time.Duration) error {
	x := t.wire
	w := x.world
	path := p.Record.Path()
	d := w.chance.of("deliver " + t.place.name + " " + path)
	x.step("publish")
	if err := x.sleep(ctx, d.way()); err != nil {
		return t.failure(p, contracts.Outage, contracts.CodeOf(err))
	}
	if f := t.hits(d, targetHangs); f != nil {
		if d.hit(0.5) && x.sleep(ctx, d.between(0, publishTime)) == nil {
			w.judge.received(x, t.place.name, path, began, replayOf(p))
		}
		_ = x.sleep(ctx, time.Hour)
		return t.failure(p, contracts.Outage, "DeadlineExceeded")
	}
	if f := t.hits(d, targetQuota); f != nil && !t.place.within(w.elapsed(), f.Rate) {
		return t.failure(p, contracts.Outage, "ResourceExhausted")
	}
	if f := t.hits(d, targetDown); f != nil {
		return t.failure(p, kindOf(f.Code), f.Code)
	}
	if f := t.hits(d, targetFlaps); f != nil && (w.elapsed()-f.From)/time.Second%2 == 0 {
		return t.failure(p, kindOf(f.Code), f.Code)
	}
	if kind := w.judge.poisoned(path, t.place.name); kind != wholesome {
		return t.poison(p, kind)
	}
	receipt := w.judge.received(x, t.place.name, path, began, replayOf(p))
	if f := t.hits(d, targetLossy); f != nil && d.hit(0.5) {
		return t.failure(p, contracts.Outage, "Unavailable")
	}
	if err := x.sleep(ctx, d.way()); err != nil {
		return t.failure(p, contracts.Outage, contracts.CodeOf(err))
	}
	x.step("acknowledged")
	if x.isCut() {
		return failed("Unavailable")
	}
	w.judge.acknowledged(x, receipt, t.place.name)
	return nil
}

func (t target) hits(d *draw, kind faultKind) *fault {
	f := t.wire.world.activeAt(kind, t.wire.instance, t.place.name)
	if f == nil || !d.hit(f.Share) {
		return nil
	}
	t.wire.world.count("fault: " + string(kind))
	return f
}

// kindOf is what a code of Pub/Sub means for a record.
func kindOf(code string) contracts.Kind {
	switch code {
	case "Internal", "Unknown", "Aborted":
		return contracts.Attributable
	}
	return contracts.Outage
}

func (t target) poison(p ier.Parcel, kind poisonKind) error {
	switch kind {
	case permanent:
		return t.fail(p, &contracts.Failure{Kind: contracts.Permanent, Code: "InvalidArgument"}, true)
	case ownFault:
		return t.fail(p, &contracts.Failure{Kind: contracts.Attributable, Code: "Rejected", Own: true}, true)
	}
	return t.fail(p, &contracts.Failure{Kind: contracts.Attributable, Code: "Internal"}, true)
}

// failure is the answer of a delivery that failed for the target's sake.
func (t target) failure(p ier.Parcel, kind contracts.Kind, code string) error {
	return t.fail(p, &contracts.Failure{Kind: kind, Code: code}, false)
}

// fail is the answer of a delivery that failed: for the record's own sake, or
// for the target's.
func (t target) fail(p ier.Parcel, f *contracts.Failure, own bool) error {
	if !t.wire.isCut() {
		t.wire.world.judge.failedAt(t.wire, t.place.name, p.Record, f, own)
	}
	f.Err = failed(f.Code)
	return f
}

// alerts are published to a topic that takes all of them.
type alerts struct{ *wire }

// Publish implements dlq.Alerts.
func (a alerts) Publish(ctx context.Context, _ []byte, attributes map[string]string) error {
	d := a.world.chance.of("alert " + attributes["eventId"])
	a.step("alert")
	return a.sleep(ctx, d.way())
}
