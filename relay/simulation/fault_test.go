package simulation

import (
	"fmt"
	"time"
)

// fault is something that goes wrong for a while.
type fault struct {
	Kind      faultKind
	From, For time.Duration
	Instance  int     // whose way to Firestore or to a target it is; -1: everybody's
	Target    string  // faults of targets
	Share     float64 // of the calls that it hits
	Code      string
	Rate      int // quota: deliveries a second
}

func (f fault) String() string {
	who := "everybody"
	if f.Instance >= 0 {
		who = fmt.Sprint("instance ", f.Instance)
	}
	if f.Target != "" {
		who += " at " + f.Target
	}
	return fmt.Sprintf("%s for %v to %s (%.0f %% of calls, %s%s)", f.Kind, f.For.Round(time.Millisecond), who, 100*f.Share, f.Code, rate(f.Rate))
}

func rate(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n, " a second")
}

type faultKind string

// Faults of Firestore and of the way there.
const (
	down          faultKind = "Firestore out"         // calls fail, streams end
	slow          faultKind = "Firestore slow"        // calls take seconds
	hangs         faultKind = "calls hang"            // until their time is up; a commit may be applied
	lostAnswers   faultKind = "answers lost"          // a commit is applied and its answer is an error
	sentTwice     faultKind = "commits sent twice"    // by the client, so that the second is judged
	aborts        faultKind = "commits aborted"       // and not applied
	lateApplied   faultKind = "commits applied late"  // most after who sent them gave up
	streamsEnd    faultKind = "streams end"           // those that are open, at its beginning
	streamsSilent faultKind = "streams fall silent"   // those that are open, at its beginning, for good
	streamsOpen   faultKind = "streams open late"     // their first snapshot
	streamsLag    faultKind = "streams lag"           // each snapshot
	targetDown    faultKind = "target out"            // with any code
	targetFlaps   faultKind = "target flaps"          // out each other second
	targetHangs   faultKind = "target hangs"          // until the publish's time is up
	targetQuota   faultKind = "target over its quota" // refuses what is above
	targetLossy   faultKind = "target's answers lost" // it has the record, and the answer is an error
)

var firestoreFaults = []faultKind{down, slow, hangs, lostAnswers, sentTwice, aborts, lateApplied, streamsEnd, streamsSilent, streamsOpen, streamsLag}

var targetFaults = []faultKind{targetDown, targetDown, targetFlaps, targetHangs, targetQuota, targetLossy}

func draftFaults(d *draw, s scenario) []fault {
	var out []fault
	switch {
	case s.Theme == freezes, d.hit(0.55):
		for range 1 + d.IntN(6) {
			out = append(out, draftFirestoreFault(d, s))
		}
	}
	if s.Theme == freezes && d.hit(0.7) { // what is said of a dead letter is in doubt
		out = append(out, fault{Kind: pick(d, []faultKind{lostAnswers, sentTwice}), For: s.Span, Instance: -1, Share: 0.2 + 0.5*d.Float64(), Code: "Unavailable"},
			fault{Kind: slow, For: s.Span, Instance: -1, Share: 0.3 * d.Float64()})
	}
	if s.Theme == expiry { // whose counts take long
		out = append(out, fault{Kind: slow, For: s.Span, Instance: -1, Share: 0.5})
	}
	n := 0
	switch {
	case s.Theme == restarts:
		for n := 0; n < 4; n += 1 + d.IntN(2) { // out until an instance is about to come back
			out = append(out, fault{
				Kind: targetDown, From: time.Duration(n) * s.Span / 4, For: d.between(s.Span/8, s.Span/4), Instance: -1, Share: 1,
				Target: pick(d, []string{"MAIL", "STOCK", "STOCK"}), Code: "Unavailable",
			})
		}
		out = append(out, fault{Kind: slow, For: s.Span, Instance: -1, Share: d.Float64() * 0.5})
	case s.Theme == outages:
		n = 3 + d.IntN(8)
	case s.Theme == floods:
		out = append(out, fault{Kind: targetQuota, For: s.Span, Instance: -1, Target: pick(d, []string{"MAIL", "LEDGER"}), Share: 1, Rate: 1 + d.IntN(6)})
	case d.hit(0.6):
		n = 1 + d.IntN(4)
	}
	for range n {
		out = append(out, draftTargetFault(d, s))
	}
	for i := range out {
		out[i].For = min(out[i].For, s.Span-out[i].From)
	}
	return out
}

func draftFirestoreFault(d *draw, s scenario) fault {
	return fault{
		Kind: pick(d, firestoreFaults), From: d.between(0, s.Span), For: d.between(time.Second, 25*time.Second),
		Instance: d.IntN(s.Instances+1) - 1, Share: 0.1 + 0.9*d.Float64(),
		Code: pick(d, []string{"Unavailable", "DeadlineExceeded", "Internal", "ResourceExhausted", "Canceled", "Unknown"}),
	}
}

func draftTargetFault(d *draw, s scenario) fault {
	f := fault{
		Kind: pick(d, targetFaults), From: d.between(0, s.Span), For: d.between(500*time.Millisecond, 40*time.Second),
		Instance: -1, Target: pick(d, targetNames), Share: 1,
		Code: pick(d, []string{"Unavailable", "Unavailable", "DeadlineExceeded", "PermissionDenied", "Internal", "Unknown", "Aborted"}),
	}
	if s.Theme == outages {
		f.Target = pick(d, []string{"MAIL", "STOCK", "LEDGER"})
		f.For = d.between(500*time.Millisecond, 20*time.Second)
	}
	if f.Kind == targetQuota {
		f.Rate = 1 + d.IntN(8)
	}
	if d.hit(0.2) {
		f.Instance = d.IntN(s.Instances)
	}
	if d.hit(0.3) {
		f.Share = 0.3 + 0.7*d.Float64()
	}
	return f
}

// active returns the fault of a kind that is on now for an instance; nil: none.
func (w *world) active(kind faultKind, instance int) *fault { return w.activeAt(kind, instance, "") }

func (w *world) activeAt(kind faultKind, instance int, target string) *fault {
	now := w.elapsed()
	for i := range w.plan.Faults {
		f := &w.plan.Faults[i]
		if f.Kind == kind && f.Target == target && (f.Instance < 0 || f.Instance == instance) && now >= f.From && now < f.From+f.For {
			return f
		}
	}
	return nil
}

// hits reports whether a fault of that kind is on and hits this call.
func (w *world) hits(d *draw, kind faultKind, instance int) *fault {
	if f := w.active(kind, instance); f != nil && d.hit(f.Share) {
		w.count("fault: " + string(kind))
		return f
	}
	return nil
}

// breakStreams ends the open streams at the beginning of a fault, or has them
// fall silent.
func (w *world) breakStreams(f *fault) {
	d := w.chance.of("break streams " + f.String())
	for _, l := range w.living() {
		if f.Instance >= 0 && f.Instance != l.instance {
			continue
		}
		for _, s := range l.wire.openStreams() {
			if !d.hit(f.Share) {
				continue
			}
			w.count("fault: " + string(f.Kind))
			if f.Kind == streamsSilent {
				s.fallSilent()
			} else {
				s.end(failed(f.Code))
			}
		}
	}
}
