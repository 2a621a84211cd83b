package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/ordeal"
	"outboxrelay/deploy/local/rig"
	"outboxrelay/deploy/local/thorough"
)

// A run of a few faults goes through and finds the service sound.
func TestRunOfAFewFaults(t *testing.T) {
	thorough.Long(t)
	relay, err := rig.BuildRelay(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	code := run(t.Context(), []string{"-relay", relay, "-seed", "5", "-kills", "3", "-lease-term", "1s", "-only", "kill,cut,publish-answer-lost"}, &out, &progress)
	if code != ordeal.ExitOK {
		t.Fatalf("exit code %d, want %d\n%s\n%s", code, ordeal.ExitOK, &out, &progress)
	}
	for _, want := range []string{"3 faults on the embedded cloud with 2 relays", "nothing lost", "kill", "cut", "publish-answer-lost", "seed 5", "-seed 5 -kills 3"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &out)
		}
	}
}

func TestUsageMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown cloud":              {[]string{"-cloud", "other"}, `-cloud is "other"`},
		"negative faults":            {[]string{"-kills", "-1"}, "-kills is -1"},
		"no relay":                   {[]string{"-relays", "0"}, "-relays is 0"},
		"a term that is too short":   {[]string{"-lease-term", "1ms"}, "-lease-term is 1ms"},
		"no rate":                    {[]string{"-rate", "0"}, "-rate is 0"},
		"unknown fault":              {[]string{"-only", "kill,flood"}, "-only names flood, which is no fault"},
		"embedded fault on Google's": {[]string{"-cloud", "google", "-only", "commit-refused"}, "-only names commit-refused"},
		"several on one":             {[]string{"-relays", "1", "-only", "rolling"}, "-only names rolling"},
		"an argument":                {[]string{"kill"}, `unexpected argument "kill"`},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr strings.Builder
			if code := run(t.Context(), tc.args, &stderr, &stderr); code != ordeal.ExitUsage || !strings.Contains(stderr.String(), tc.want) {
				t.Errorf("exit code %d and %q; want %d and %q", code, stderr.String(), ordeal.ExitUsage, tc.want)
			}
		})
	}
}

// parsed reads a command line.
func parsed(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parseOptions(args, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestCommandMakesTheSameRunAgain(t *testing.T) {
	want := parsed(t, "-cloud", "google", "-kills", "7", "-relays", "3", "-rate", "9", "-only", "kill,cut", "-relay", "/bin/relay", "-lease-term", "5s")
	if got := parsed(t, strings.Fields(want.command())[3:]...); !cmp.Equal(want, got, cmp.AllowUnexported(options{})) {
		t.Errorf("%q gives %+v, want %+v", want.command(), got, want)
	}
}

// drawn is what of a plan can be compared.
func drawn(t *testing.T, o options) (names []string, holds []time.Duration) {
	t.Helper()
	ks, err := kindsOf(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan(o, ks) {
		names, holds = append(names, p.kind.name), append(holds, p.draw.hold)
	}
	return names, holds
}

func TestPlanHangsOnTheSeed(t *testing.T) {
	names, holds := drawn(t, parsed(t, "-seed", "3", "-kills", "40"))
	againNames, againHolds := drawn(t, parsed(t, "-seed", "3", "-kills", "40"))
	if !cmp.Equal(names, againNames) || !cmp.Equal(holds, againHolds) {
		t.Error("two plans of one seed differ")
	}
	if others, _ := drawn(t, parsed(t, "-seed", "4", "-kills", "40")); cmp.Equal(names, others) {
		t.Error("two seeds give the same plan")
	}
	times := map[string]int{}
	for _, name := range names {
		times[name]++
	}
	for _, k := range kinds() {
		if times[k.name] < 2 {
			t.Errorf("of 40 faults %d are %s, want at least 2: each comes once in every round", times[k.name], k.name)
		}
	}
}

// madeBy draws commits of an outbox.
func madeBy(t *testing.T, outbox string, seed uint64, commits int) []entry {
	t.Helper()
	catalog, err := chaosCatalog()
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(catalog, catalog.Outbox(outbox), seed, 1)
	var out []entry
	for range commits {
		out = append(out, m.commit()...)
	}
	return out
}

func TestRecordsHangOnTheSeed(t *testing.T) {
	var keys, again []string
	fates := map[fate]int{}
	for _, e := range madeBy(t, "accOutbox", 7, 400) {
		keys = append(keys, e.key+string(e.fate)+e.refusing)
		fates[e.fate]++
	}
	for _, e := range madeBy(t, "accOutbox", 7, 400) {
		again = append(again, e.key+string(e.fate)+e.refusing)
	}
	if diff := cmp.Diff(keys, again); diff != "" {
		t.Errorf("two makers of one seed differ:\n%s", diff)
	}
	for _, f := range []fate{fateSound, fateFlaky, fateExhausted, fatePermanent, fateBroken} {
		if fates[f] == 0 {
			t.Errorf("no record is %s", f)
		}
	}
}

func TestOnlyBrokenRecordsBreakTheContract(t *testing.T) {
	catalog, err := chaosCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, outbox := range catalog.Outboxes {
		for _, e := range madeBy(t, outbox.Name, 9, 200) {
			rec, faults := contracts.DecodeRecord(e.outbox, e.id, e.fields)
			checked := catalog.Check(rec, faults)
			if broken := checked.Faults.Err() != nil; broken != (e.fate == fateBroken) {
				t.Errorf("%s is %s: %v", e.path(), e.fate, checked.Faults)
			}
			if e.fate == fateBroken && checked.Tier != e.tier.Stricter(contracts.ReviewRequired) {
				t.Errorf("%s would die as %s, want the stricter of %s and REVIEW_REQUIRED", e.path(), checked.Tier, e.tier)
			}
		}
	}
}

// What is appended after all faults hangs on nothing that happened before.
func TestWhatIsCalmIsSoundAndOfAggregatesOfItsOwn(t *testing.T) {
	catalog, err := chaosCatalog()
	if err != nil {
		t.Fatal(err)
	}
	m := newMaker(catalog, catalog.Outbox("accOutbox"), 7, 1)
	before := map[string]bool{}
	for range 100 {
		for _, e := range m.commit() {
			before[e.aggregate] = true
		}
	}
	m.calm = true
	for range 100 {
		for _, e := range m.commit() {
			if e.fate != fateSound || before[e.aggregate] || !e.calm {
				t.Fatalf("%s is %s, calm: %t; its aggregate had others before: %t", e.path(), e.fate, e.calm, before[e.aggregate])
			}
		}
	}
}

func TestBrokerRefusesByFate(t *testing.T) {
	const internal, invalid, ok = codes.Internal, codes.InvalidArgument, codes.OK
	for name, tc := range map[string]struct {
		record record
		target string
		replay string
		want   []codes.Code // of one request after the other
	}{
		"sound":                   {record{fate: fateSound}, "A", "", []codes.Code{ok, ok}},
		"flaky":                   {record{fate: fateFlaky, refusing: "A", refusals: 2}, "A", "", []codes.Code{internal, internal, ok, ok}},
		"flaky at another target": {record{fate: fateFlaky, refusing: "A", refusals: 2}, "B", "", []codes.Code{ok}},
		"exhausted":               {record{fate: fateExhausted, refusing: "A"}, "A", "", []codes.Code{internal, internal, internal, internal}},
		"permanent":               {record{fate: fatePermanent, refusing: "A"}, "A", "", []codes.Code{invalid, invalid}},
		"replay":                  {record{fate: fatePermanent, refusing: "A", replayRefusals: 1}, "A", "letter", []codes.Code{internal, ok, ok}},
	} {
		t.Run(name, func(t *testing.T) {
			r := tc.record
			r.outbox, r.key = "tagOutbox", "k"
			known := newTruth()
			known.add(&r)
			var got []codes.Code
			for range tc.want {
				got = append(got, known.verdict(map[string]string{
					contracts.AttrOutbox: "tagOutbox", contracts.AttrIdempotencyKey: "k", contracts.AttrTarget: tc.target, contracts.AttrReplay: tc.replay,
				}))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordsInDoubtCountWhenTheyAreIn(t *testing.T) {
	known := newTruth()
	sure, in, out := &record{outbox: "o", id: "sure", key: "1"}, &record{outbox: "o", id: "in", key: "2"}, &record{outbox: "o", id: "out", key: "3"}
	known.add(sure, in, out)
	known.confirm(sure)
	var got []string
	for _, r := range known.all(func(path string) bool { return path == "o/in" }) {
		got = append(got, r.id)
	}
	if len(got) != 2 || got[0] == "out" || got[1] == "out" {
		t.Errorf("records are %v, want sure and in", got)
	}
}
