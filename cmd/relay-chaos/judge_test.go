package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/relay/lease/leasetest"
)

// runBegan is when the runs of the tests began.
var runBegan = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// soundRun is the evidence of a small run in which all went well: a sound record
// of two targets, later versions of it, and one of each fate.
func soundRun(t *testing.T) *evidence {
	t.Helper()
	catalog, err := chaosCatalog()
	if err != nil {
		t.Fatal(err)
	}
	e := &evidence{
		catalog: catalog, documents: map[string]document{}, freezes: map[string]freeze{},
		leases: leasetest.Leases{}, instances: map[string]time.Duration{"relay-a": time.Second},
		episodes: []*episode{{number: 1, kind: "kill", began: runBegan.Add(10 * time.Second), ended: runBegan.Add(12 * time.Second)}},
	}
	e.takings = map[taking][]string{{"queue", runBegan}: {"relay-a"}}
	for _, share := range shares(catalog) {
		e.leases[share] = leasetest.Lease{Owner: "relay-a", Age: time.Second, Term: 3 * time.Second}
	}
	for v := range 3 {
		e.deliver(e.append(fateSound, "agg", int64(v+1), "FUNNEL", "VS4_TAG_SUBSCRIBER"))
	}
	e.deliver(e.append(fateFlaky, "agg", 4, "FUNNEL"))
	e.bury(e.append(fateExhausted, "agg", 5, "FUNNEL"), letter{tier: contracts.ReviewRequired, state: contracts.DeadAwaitingReview, reason: contracts.AttemptsExhausted, attempts: 3})
	e.bury(e.append(fatePermanent, "agg", 6, "FUNNEL"), letter{tier: contracts.ReviewRequired, state: contracts.DeadDiscarded, reason: contracts.PermanentFailure, attempts: 1})
	e.bury(e.append(fateBroken, "agg", 7, "FUNNEL"), letter{tier: contracts.ReviewRequired, state: contracts.DeadAwaitingReview, reason: contracts.ContractViolation})
	return e
}

// append adds a record that nothing has become of yet. Records are appended a
// second after each other.
func (e *evidence) append(f fate, aggregate string, version int64, targets ...string) *record {
	r := &record{
		outbox: "tagOutbox", id: fmt.Sprintf("%s-%d", aggregate, version), eventID: fmt.Sprintf("event-%s-%d", aggregate, version), traceID: "trace",
		key: fmt.Sprintf("%s:%d", aggregate, version), aggregate: aggregate, version: version, lane: contracts.BackgroundLane, tier: contracts.ReviewRequired,
		targets: targets, fate: f, confirmed: true, appended: runBegan.Add(time.Duration(len(e.records)) * time.Second),
	}
	if f != fateSound && f != fateBroken {
		r.refusing, r.refusals = targets[0], 1
	}
	e.records = append(e.records, r)
	e.documents[r.path()] = documentOf(r, contracts.Pending, 0)
	return r
}

func documentOf(r *record, status contracts.Status, attempts int64) document {
	return document{status, attempts, map[string]any{contracts.FieldEventID: r.eventID, contracts.FieldIdempotencyKey: r.key}}
}

// arrive adds a message of the record.
func (e *evidence) arrive(r *record, target string) *arrival {
	n := len(e.arrivals)
	e.arrivals = append(e.arrivals, arrival{
		topic: "topic-" + target, id: fmt.Sprint(n), at: runBegan.Add(time.Duration(n) * time.Second), outbox: r.outbox, target: target, key: r.key,
		eventID: r.eventID, traceID: r.traceID, aggregate: r.aggregate, lane: r.lane, version: r.version, hasData: true,
	})
	return &e.arrivals[n]
}

func (e *evidence) deliver(r *record) {
	for _, target := range r.targets {
		e.arrive(r, target)
	}
	attempts := int64(0)
	if r.fate == fateFlaky {
		attempts = 1
	}
	e.documents[r.path()] = documentOf(r, contracts.Delivered, attempts)
}

// bury gives the record a dead letter, with what l says of it.
func (e *evidence) bury(r *record, l letter) {
	l.id, l.path, l.outbox, l.aggregate, l.version, l.key, l.traceID = r.key, r.path(), r.outbox, r.aggregate, r.version, r.key, r.traceID
	l.open, l.pending = dlq.Open(l.state), r.targets
	if l.from == "" {
		l.from = l.tier
	}
	e.letters = append(e.letters, l)
	e.documents[r.path()] = documentOf(r, contracts.Dead, int64(l.attempts))
}

func TestSoundRunIsSound(t *testing.T) {
	j := judge(soundRun(t))
	if diff := cmp.Diff([]violation(nil), j.violations, cmp.AllowUnexported(violation{})); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	for _, g := range guarantees() {
		if j.checked[g] == 0 {
			t.Errorf("nothing was looked at for %q", g)
		}
	}
}

func TestJudgeFinds(t *testing.T) {
	const subject = "tagOutbox/agg-1"
	freezeOf := func(e *evidence, aggregate string) *record {
		r := e.append(fateExhausted, aggregate, 1, "CLAIMS_HANDLER")
		r.tier = contracts.SecurityBlock
		e.bury(r, letter{tier: contracts.SecurityBlock, state: contracts.DeadBlocked, reason: contracts.AttemptsExhausted, attempts: 3})
		e.freezes[aggregate] = freeze{dlq.Frozen, []string{r.key}}
		return r
	}
	// disorder delivers version 2 before version 1; createdAt is version 2's, and
	// version 1 was created when the run began.
	disorder := func(e *evidence, createdAt time.Time) {
		first, second := e.append(fateSound, "new", 1, "FUNNEL"), e.append(fateSound, "new", 2, "FUNNEL")
		e.deliver(second)
		e.deliver(first)
		e.documents[first.path()].fields[contracts.FieldCreatedAt] = runBegan
		e.documents[second.path()].fields[contracts.FieldCreatedAt] = createdAt
	}
	for name, tc := range map[string]struct {
		spoil func(e *evidence)
		want  guarantee // "": nothing is wrong with it
		about string
	}{
		"a document that is gone": {func(e *evidence) { delete(e.documents, subject) }, nothingLost, subject},
		"a record marked that never arrived at one target": {func(e *evidence) {
			e.arrivals = e.arrivals[1:] // of FUNNEL
		}, nothingLost, subject},
		"a record that is still pending": {func(e *evidence) { e.append(fateSound, "new", 1, "FUNNEL") }, nothingLost, "tagOutbox/new-1"},
		"a record that is still retrying": {func(e *evidence) {
			r := e.append(fateSound, "new", 1, "FUNNEL")
			e.documents[r.path()] = documentOf(r, contracts.Retrying, 0)
		}, nothingLost, "tagOutbox/new-1"},
		"a dead record without a dead letter": {func(e *evidence) {
			r := e.append(fateExhausted, "new", 1, "FUNNEL")
			e.documents[r.path()] = documentOf(r, contracts.Dead, 3)
		}, nothingLost, "tagOutbox/new-1"},
		"a dead letter that forgets a target": {func(e *evidence) {
			r := e.append(fateExhausted, "new", 1, "FUNNEL", "VS4_TAG_SUBSCRIBER")
			e.bury(r, letter{tier: contracts.ReviewRequired, state: contracts.DeadAwaitingReview, reason: contracts.AttemptsExhausted, attempts: 3})
			e.letters[len(e.letters)-1].pending = []string{"FUNNEL"}
		}, nothingLost, "tagOutbox/new-1"},
		"a record held though nothing is frozen": {func(e *evidence) {
			r := e.append(fateSound, "new", 1, "FUNNEL")
			e.documents[r.path()] = documentOf(r, contracts.Held, 0)
		}, nothingLost, "tagOutbox/new-1"},
		"a record held by a freeze": {func(e *evidence) {
			freezeOf(e, "ice")
			r := e.append(fateSound, "ice", 2, "FUNNEL")
			e.documents[r.path()] = documentOf(r, contracts.Held, 0)
		}, "", ""},
		"a record replayed that did not arrive": {func(e *evidence) {
			r := e.append(fateExhausted, "new", 1, "FUNNEL")
			e.bury(r, letter{tier: contracts.ReviewRequired, state: contracts.DeadReplayed, reason: contracts.AttemptsExhausted, attempts: 3})
			e.documents[r.path()] = documentOf(r, contracts.Delivered, 3)
		}, nothingLost, "tagOutbox/new-1"},

		"a version that came after a higher one": {func(e *evidence) {
			second := e.append(fateSound, "new", 2, "FUNNEL")
			first := e.append(fateSound, "new", 1, "FUNNEL")
			e.deliver(second)
			e.deliver(first)
		}, orderKept, "tagOutbox/new-1"},
		"a version that came after a higher one of its commit":                                {func(e *evidence) { disorder(e, runBegan) }, orderKept, "tagOutbox/new-1"},
		"a version that came after a higher one of its commit, which came in pieces":          {func(e *evidence) { e.pieces = true; disorder(e, runBegan) }, "", ""},
		"a version that came after a higher one of another commit, where they come in pieces": {func(e *evidence) { e.pieces = true; disorder(e, runBegan.Add(time.Second)) }, orderKept, "tagOutbox/new-1"},
		"a version repeated after a higher one, near a fault":                                 {func(e *evidence) { e.arrive(e.records[0], "FUNNEL").at = runBegan.Add(11 * time.Second) }, "", ""},
		"versions of different lanes": {func(e *evidence) {
			second := e.append(fateSound, "new", 2, "FUNNEL")
			first := e.append(fateSound, "new", 1, "FUNNEL")
			first.lane = contracts.StandardLane
			e.deliver(second)
			e.deliver(first)
		}, "", ""},
		"a replay that came after a higher version": {func(e *evidence) {
			first, second := e.append(fateExhausted, "new", 1, "FUNNEL"), e.append(fateSound, "new", 2, "FUNNEL")
			e.deliver(second)
			e.bury(first, letter{tier: contracts.ReviewRequired, state: contracts.DeadReplayed, reason: contracts.AttemptsExhausted, attempts: 3})
			e.arrive(first, "FUNNEL").replay = first.key
			e.documents[first.path()] = documentOf(first, contracts.Delivered, 3)
		}, "", ""},

		"a sound record that died": {func(e *evidence) {
			e.bury(e.append(fateSound, "new", 1, "FUNNEL"), letter{tier: contracts.ReviewRequired, state: contracts.DeadAwaitingReview, reason: contracts.AttemptsExhausted})
		}, rightlyDead, "tagOutbox/new-1"},
		"a flaky record that died": {func(e *evidence) {
			e.bury(e.append(fateFlaky, "new", 1, "FUNNEL"), letter{tier: contracts.ReviewRequired, state: contracts.DeadAwaitingReview, reason: contracts.AttemptsExhausted})
		}, rightlyDead, "tagOutbox/new-1"},
		"a broken record that was delivered":   {func(e *evidence) { e.deliver(e.append(fateBroken, "new", 1, "FUNNEL")) }, rightlyDead, "tagOutbox/new-1"},
		"a dead letter with another reason":    {func(e *evidence) { e.letters[0].reason = contracts.PermanentFailure }, rightlyDead, "tagOutbox/agg-5"},
		"a dead letter after too few attempts": {func(e *evidence) { e.letters[0].attempts = 2 }, rightlyDead, "tagOutbox/agg-5"},
		"a dead letter of a milder tier": {func(e *evidence) {
			e.letters[2].from, e.letters[2].tier, e.letters[2].state = contracts.SafeAuto, contracts.SafeAuto, contracts.DeadReplayed
		}, rightlyDead, "tagOutbox/agg-7"},
		"two dead letters of one record":  {func(e *evidence) { e.letters = append(e.letters, e.letters[0]) }, rightlyDead, "tagOutbox/agg-5"},
		"an attempt of a sound record":    {func(e *evidence) { e.documents[subject] = documentOf(e.records[0], contracts.Delivered, 1) }, noAttemptBurned, subject},
		"more attempts than refusals":     {func(e *evidence) { e.documents["tagOutbox/agg-4"] = documentOf(e.records[3], contracts.Delivered, 2) }, noAttemptBurned, "tagOutbox/agg-4"},
		"a status that there is not":      {func(e *evidence) { e.documents[subject] = documentOf(e.records[0], "lost", 0) }, statesLegal, subject},
		"a document that nobody appended": {func(e *evidence) { e.documents["tagOutbox/x"] = document{status: contracts.Delivered} }, statesLegal, "tagOutbox/x"},
		"a state of another tier":         {func(e *evidence) { e.letters[0].state = contracts.DeadBlocked }, statesLegal, "tagOutbox/agg-5"},
		"a tier that changed by itself": {func(e *evidence) {
			e.letters[0].tier, e.letters[0].state = contracts.SecurityBlock, contracts.DeadBlocked
		}, statesLegal, "tagOutbox/agg-5"},
		"a dead letter that is closed and open": {func(e *evidence) { e.letters[0].open = false }, statesLegal, "tagOutbox/agg-5"},
		"a dead letter that is being replayed":  {func(e *evidence) { e.letters[0].replaying = true }, statesLegal, "tagOutbox/agg-5"},
		"a replay that was asked for, behind an older dead letter": {func(e *evidence) {
			r := e.append(fateExhausted, "agg", 8, "FUNNEL")
			r.tier = contracts.ReviewRequired
			e.bury(r, letter{tier: contracts.ReviewRequired, state: contracts.DeadAwaitingReview, reason: contracts.AttemptsExhausted, attempts: 3, replaying: true})
		}, "", ""},
		"a discarded record that is delivered": {func(e *evidence) {
			r := e.records[5]
			e.arrive(r, "FUNNEL")
			e.documents[r.path()] = documentOf(r, contracts.Delivered, 1)
		}, statesLegal, "tagOutbox/agg-6"},
		"a replay that was never made": {func(e *evidence) {
			r := e.append(fateExhausted, "new", 1, "FUNNEL")
			r.tier = contracts.SafeAuto
			e.bury(r, letter{tier: contracts.SafeAuto, state: contracts.DeadScheduled, reason: contracts.AttemptsExhausted, attempts: 3})
		}, statesLegal, "tagOutbox/new-1"},
		"a replay behind an older dead letter": {func(e *evidence) {
			r := e.append(fateExhausted, "agg", 8, "FUNNEL")
			r.tier = contracts.SafeAuto
			e.bury(r, letter{tier: contracts.SafeAuto, state: contracts.DeadScheduled, reason: contracts.AttemptsExhausted, attempts: 3})
		}, "", ""},
		"a security dead letter that froze nothing": {func(e *evidence) { freezeOf(e, "ice"); delete(e.freezes, "ice") }, statesLegal, "tagOutbox/ice-1"},
		"a freeze that was released": {func(e *evidence) {
			freezeOf(e, "ice")
			delete(e.freezes, "ice")
			e.released = map[string]bool{"ice": true}
		}, "", ""},
		"a freeze without a dead letter":            {func(e *evidence) { e.freezes["ice"] = freeze{state: dlq.Frozen} }, statesLegal, "freeze of ice"},
		"a freeze that names an unknown one":        {func(e *evidence) { freezeOf(e, "ice"); e.freezes["ice"].letters[0] = "x" }, statesLegal, "freeze of ice"},
		"a release that does not end":               {func(e *evidence) { freezeOf(e, "ice"); e.freezes["ice"] = freeze{state: dlq.Releasing} }, statesLegal, "freeze of ice"},
		"a message with another trace":              {func(e *evidence) { e.arrivals[0].traceID = "other" }, identityKept, subject},
		"a message without data":                    {func(e *evidence) { e.arrivals[0].hasData = false }, identityKept, subject},
		"a message of no record":                    {func(e *evidence) { e.arrivals[0].key = "x"; e.arrive(e.records[0], "FUNNEL").at = e.arrivals[0].at }, identityKept, "tagOutbox/x"},
		"a message for a target that it has not":    {func(e *evidence) { e.arrive(e.records[3], "NOTIF_ROUTER") }, identityKept, "tagOutbox/agg-4"},
		"a document whose event is another":         {func(e *evidence) { e.documents[subject].fields[contracts.FieldEventID] = "x" }, identityKept, subject},
		"a message that came twice without a fault": {func(e *evidence) { e.arrive(e.records[0], "FUNNEL").at = runBegan.Add(2 * time.Second) }, fewDuplicates, subject},
		"more messages twice than memory holds": {func(e *evidence) {
			for range duplicateBound(e.catalog) + 1 {
				e.arrive(e.records[0], "FUNNEL").at = runBegan.Add(11 * time.Second)
			}
		}, fewDuplicates, "kill"},
		"a share that nobody owns":   {func(e *evidence) { delete(e.leases, "orgOutbox") }, sharesOwned, "orgOutbox"},
		"a share that was let go":    {func(e *evidence) { e.leases["queue"] = leasetest.Lease{} }, sharesOwned, "queue"},
		"a share of a dead instance": {func(e *evidence) { e.leases["wsOutbox.1"] = leasetest.Lease{Owner: "relay-b", Term: time.Second} }, sharesOwned, "wsOutbox.1"},
		"a lease that was not renewed": {func(e *evidence) {
			e.leases["queue"] = leasetest.Lease{Owner: "relay-a", Age: 4 * time.Second, Term: 3 * time.Second}
		}, sharesOwned, "queue"},
		"a taking with two owners":      {func(e *evidence) { e.takings[taking{"queue", runBegan}] = []string{"relay-a", "relay-b"} }, soleOwner, "queue"},
		"an outbox that went dead":      {func(e *evidence) { e.episodes[0].stuck = []string{"orgOutbox"} }, workGoesOn, "orgOutbox"},
		"a relay that ended by itself":  {func(e *evidence) { e.ended = []string{"exit status 1"} }, relaysLive, "relay"},
		"an append that nobody knew of": {func(e *evidence) { e.records[0].confirmed = false }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := soundRun(t)
			tc.spoil(e)
			j := judge(e)
			switch {
			case tc.want == "" && !j.sound():
				t.Errorf("violations %v, want none", j.violations)
			case tc.want != "" && !strings.Contains(fmt.Sprint(j.violations), string(tc.want)+": "+tc.about+": "):
				t.Errorf("violations %v, want one of %q about %s", j.violations, tc.want, tc.about)
			}
		})
	}
}

func TestDuplicatesAreBlamedOnTheLatestFault(t *testing.T) {
	e := soundRun(t)
	pause := &episode{number: 2, kind: "pause", began: runBegan.Add(11 * time.Second), ended: runBegan.Add(15 * time.Second)}
	e.episodes = append(e.episodes, pause, &episode{number: 3, kind: "cut", began: runBegan.Add(time.Hour), ended: runBegan.Add(time.Hour)})
	e.arrive(e.records[0], "FUNNEL").at = runBegan.Add(16 * time.Second)
	j := judge(e)
	if len(j.duplicates) != 1 || j.duplicates[0].episode != pause {
		t.Fatalf("duplicates are %+v, want one of the pause", j.duplicates)
	}
	got := map[string]int{}
	for _, l := range lines(e, j) {
		got[l.kind] = l.duplicates
	}
	if diff := cmp.Diff(map[string]int{"kill": 0, "pause": 1, "cut": 0}, got); diff != "" {
		t.Errorf("duplicates by fault (-want +got):\n%s", diff)
	}
}

func TestDuplicateBoundCountsWhatFitsIntoMemory(t *testing.T) {
	catalog, err := chaosCatalog()
	if err != nil {
		t.Fatal(err)
	}
	// accOutbox and orgOutbox have three lanes, skillOutbox, wsOutbox and
	// schedOutbox two, tagOutbox one. Of two targets are schedOutbox's STANDARD
	// and tagOutbox's BACKGROUND.
	if got, want := duplicateBound(catalog), inFlight*(3+3+2+2+2+1+2); got != want {
		t.Errorf("bound is %d, want %d", got, want)
	}
}
