package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"outboxrelay/contracts"
)

// guarantee is one thing that the relay promises.
type guarantee string

// The guarantees.
const (
	nothingLost     guarantee = "nothing lost"
	orderKept       guarantee = "order kept"
	rightlyDead     guarantee = "dead letters right"
	noAttemptBurned guarantee = "no attempt burned"
	statesLegal     guarantee = "states legal"
	identityKept    guarantee = "identity kept"
	fewDuplicates   guarantee = "duplicates bounded"
	soleOwner       guarantee = "one owner at a time"
	sharesOwned     guarantee = "shares owned"
	workGoesOn      guarantee = "work goes on"
	relaysLive      guarantee = "relays run on"
)

// guarantees lists every guarantee in the order of the report.
func guarantees() []guarantee {
	return []guarantee{nothingLost, orderKept, rightlyDead, noAttemptBurned, statesLegal, identityKept, fewDuplicates, soleOwner, sharesOwned, workGoesOn, relaysLive}
}

// violation is a guarantee that was broken.
type violation struct {
	guarantee guarantee
	subject   string // path of the record, or what else it is about
	saw       string
}

func (v violation) String() string { return fmt.Sprintf("%s: %s: %s", v.guarantee, v.subject, v.saw) }

// judgement is what became of a run.
type judgement struct {
	violations []violation
	checked    map[guarantee]int // how much was looked at
	duplicates []duplicate
	bound      int // duplicates that one fault may cause
	excused    int // disorders within one commit that the cloud shows in pieces
}

func (j *judgement) sound() bool { return len(j.violations) == 0 }

// judge holds the evidence against every guarantee. It is a pure function.
func judge(e *evidence) *judgement {
	t := &trial{
		evidence: e, judgement: &judgement{checked: map[guarantee]int{}, bound: duplicateBound(e.catalog)},
		byPath: map[string]*record{}, byKey: map[string]*record{}, lettersOf: map[string][]letter{}, arrived: map[delivery][]arrival{},
	}
	t.index()
	for _, r := range e.records {
		t.judgeFate(r)
		t.judgeDeath(r)
		t.judgeAttempts(r)
	}
	t.judgeOrder()
	t.judgeStates()
	t.judgeDuplicates()
	t.judgeLeases()
	for _, ep := range e.episodes {
		t.checked[workGoesOn]++
		for _, outbox := range ep.stuck {
			t.found(workGoesOn, outbox, "it delivered nothing for %v after fault %d, %s, was undone at %s", recoverWithin, ep.number, ep.kind, clock(ep.ended))
		}
	}
	for _, said := range e.ended {
		t.found(relaysLive, "relay", "%s", said)
	}
	t.checked[relaysLive] = len(e.episodes)
	slices.SortStableFunc(t.violations, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.guarantee, b.guarantee), cmp.Compare(a.subject, b.subject))
	})
	return t.judgement
}

// delivery is a record at one of its targets.
type delivery struct{ target, path string }

// trial is one judging.
type trial struct {
	*evidence
	*judgement
	byPath    map[string]*record
	byKey     map[string]*record // by outbox and key
	lettersOf map[string][]letter
	arrived   map[delivery][]arrival
}

func (t *trial) found(g guarantee, subject, format string, args ...any) {
	t.violations = append(t.violations, violation{g, subject, fmt.Sprintf(format, args...)})
}

// index sorts the evidence by record, and judges what belongs to none.
func (t *trial) index() {
	for _, r := range t.records {
		t.byPath[r.path()] = r
		t.byKey[r.outbox+"/"+r.key] = r
	}
	for _, l := range t.letters {
		t.lettersOf[l.path] = append(t.lettersOf[l.path], l)
		if t.byPath[l.path] == nil {
			t.found(statesLegal, l.path, "dead letter %s of a record that nobody appended", l.id)
		}
	}
	for path := range t.documents {
		if t.byPath[path] == nil {
			t.found(statesLegal, path, "a document that nobody appended")
		}
	}
	for _, a := range t.arrivals {
		t.checked[identityKept]++
		r := t.byKey[a.outbox+"/"+a.key]
		switch {
		case r == nil:
			t.found(identityKept, a.outbox+"/"+a.key, "message %s of %s is of no record that was appended", a.id, a.topic)
			continue
		case a.eventID != r.eventID || a.traceID != r.traceID || a.aggregate != r.aggregate || a.version != r.version || !a.hasData:
			t.found(identityKept, r.path(), "message %s of %s names event %s, trace %s, %s version %d (data: %t); it was appended as %s, %s, %s version %d",
				a.id, a.topic, a.eventID, a.traceID, a.aggregate, a.version, a.hasData, r.eventID, r.traceID, r.aggregate, r.version)
		case !slices.Contains(r.targets, a.target):
			t.found(identityKept, r.path(), "message %s of %s is for target %s, which the record does not have", a.id, a.topic, a.target)
		}
		at := delivery{a.target, r.path()}
		t.arrived[at] = append(t.arrived[at], a)
	}
}

// judgeFate asks where a record ended: at all of its targets, or visibly
// somewhere else.
func (t *trial) judgeFate(r *record) {
	t.checked[nothingLost]++
	d, ok := t.documents[r.path()]
	if !ok {
		t.found(nothingLost, r.path(), "its document is gone")
		return
	}
	for field, want := range map[string]string{contracts.FieldEventID: r.eventID, contracts.FieldIdempotencyKey: r.key} {
		if got, _ := d.fields[field].(string); got != want {
			t.found(identityKept, r.path(), "its %s is %q, it was appended with %q", field, got, want)
		}
	}
	letters := t.lettersOf[r.path()]
	switch d.status {
	case contracts.Delivered:
		t.wantArrived(r, r.targets, "it is marked as delivered")
	case contracts.Dead:
		if len(letters) == 0 {
			t.found(nothingLost, r.path(), "it is dead and has no dead letter")
			return
		}
		t.wantArrived(r, slices.DeleteFunc(slices.Clone(r.targets), func(target string) bool {
			return r.fate == fateBroken || slices.Contains(letters[0].pending, target)
		}), "its dead letter does not name the target")
	case contracts.Held:
		if _, frozen := t.freezes[r.aggregate]; !frozen {
			t.found(nothingLost, r.path(), "it is held, and aggregate %s is not frozen", r.aggregate)
		}
	case contracts.Pending, contracts.Retrying:
		t.found(nothingLost, r.path(), "it is still %s at the end (attempts %d)", d.status, d.attempts)
	default:
		t.found(statesLegal, r.path(), "its status is %q", d.status)
	}
}

func (t *trial) wantArrived(r *record, targets []string, because string) {
	for _, target := range targets {
		if len(t.arrived[delivery{target, r.path()}]) == 0 {
			t.found(nothingLost, r.path(), "nothing of it arrived at %s, though %s", target, because)
		}
	}
}

// judgeOrder goes through first arrivals: within an outbox and lane, a target
// sees the versions of an aggregate ascend. What was dead-lettered is out of
// the row, and with it every replay.
func (t *trial) judgeOrder() {
	type row struct{ target, outbox, aggregate, lane string }
	seen := map[delivery]bool{}
	highest := map[row]arrival{}
	for _, a := range t.arrivals {
		r := t.byKey[a.outbox+"/"+a.key]
		if r == nil || a.replay != "" || len(t.lettersOf[r.path()]) > 0 {
			continue
		}
		at := delivery{a.target, r.path()}
		if seen[at] {
			continue
		}
		seen[at] = true
		t.checked[orderKept]++
		in := row{a.target, r.outbox, r.aggregate, string(r.lane)}
		above, ok := highest[in]
		if ok && above.version > a.version && t.pieces && t.together(r, t.byKey[above.outbox+"/"+above.key]) {
			t.excused++
			continue
		}
		if ok && above.version > a.version {
			t.found(orderKept, r.path(), "version %d of %s (%s, appended %s) first arrived at %s as message %s (%s), after version %d as message %s (%s)",
				a.version, r.aggregate, r.fate, clock(r.appended), a.target, a.id, clock(a.at), above.version, above.id, clock(above.at))
			continue
		}
		highest[in] = a
	}
}

// together reports whether two records were appended by one commit.
func (t *trial) together(r, other *record) bool {
	at, ok := t.documents[r.path()].fields[contracts.FieldCreatedAt].(time.Time)
	otherAt, _ := t.documents[other.path()].fields[contracts.FieldCreatedAt].(time.Time)
	return ok && at.Equal(otherAt)
}

// clock is a time of day as the report and the logs write it.
func clock(at time.Time) string { return at.UTC().Format("15:04:05.000") }

// broken lists the guarantees that were broken, with how often.
func (j *judgement) broken() map[guarantee]int {
	out := map[guarantee]int{}
	for _, v := range j.violations {
		out[v.guarantee]++
	}
	return out
}
