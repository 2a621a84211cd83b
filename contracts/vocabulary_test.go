package contracts

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWordsAreValid(t *testing.T) {
	for _, l := range Lanes() {
		if !l.Valid() {
			t.Errorf("lane %s is not valid", l)
		}
	}
	for _, tier := range Tiers() {
		if !tier.Valid() {
			t.Errorf("tier %s is not valid", tier)
		}
	}
	for _, s := range Statuses() {
		if !s.Valid() {
			t.Errorf("status %s is not valid", s)
		}
	}
	if Lane("").Valid() || Lane("critical_lane").Valid() || Tier("").Valid() || Tier("NONE").Valid() || Status("").Valid() || Status("new").Valid() {
		t.Error("an unknown word is valid")
	}
}

func TestStricter(t *testing.T) {
	order := append([]Tier{"", "UNKNOWN"}, Tiers()...)
	for i, mild := range order {
		for j, strict := range order {
			want := mild
			if j > i && strict.Valid() {
				want = strict
			}
			if got := mild.Stricter(strict); got != want {
				t.Errorf("%q.Stricter(%q) = %q, want %q", mild, strict, got, want)
			}
		}
	}
}

func TestFirstState(t *testing.T) {
	want := map[Tier]DeadState{SafeAuto: DeadScheduled, ReviewRequired: DeadAwaitingReview, SecurityBlock: DeadBlocked, "": DeadAwaitingReview}
	for tier, state := range want {
		if got := tier.FirstState(); got != state {
			t.Errorf("%q: %s, want %s", tier, got, state)
		}
	}
}

func TestFailuresTellTheirKind(t *testing.T) {
	cause := errors.New("no route")
	outage := &Failure{Kind: Outage, Code: "Unavailable", Err: cause}
	for _, c := range []struct {
		name   string
		err    error
		kind   Kind
		code   string
		text   string
		reason Reason
	}{
		{"a failure", outage, Outage, "Unavailable", "Unavailable: no route", ""},
		{"a wrapped one", fmt.Errorf("publish: %w", outage), Outage, "Unavailable", "publish: Unavailable: no route", ""},
		{"one without a cause", &Failure{Kind: Permanent, Code: "TooLarge"}, Permanent, "TooLarge", "TooLarge", ""},
		{"one with a reason, wrapped", fmt.Errorf("handle: %w", &Failure{Code: "Internal", Reason: ClaimsRefreshFailed}), Attributable, "Internal", "handle: Internal", ClaimsRefreshFailed},
		{"an error that does not know", cause, Attributable, "Unknown", "no route", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := []any{KindOf(c.err), CodeOf(c.err), c.err.Error(), ReasonOf(c.err)}
			if diff := cmp.Diff([]any{c.kind, c.code, c.text, c.reason}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if !errors.Is(outage, cause) {
		t.Error("a failure hides its cause")
	}
	for _, err := range []error{outage, cause} {
		if got := MessageOf(err); got != "no route" {
			t.Errorf("beside the code, %q reads %q", err, got)
		}
	}
	if got := fmt.Sprint(Attributable, Permanent, Outage); got != "attributable permanent outage" {
		t.Errorf("kinds read %q", got)
	}
}

func TestDocumentID(t *testing.T) {
	for key, want := range map[string]string{"id:a:1": "id:a:1", "id:a/b:1": "id:a%2Fb:1", "id:a%2Fb:1": "id:a%252Fb:1"} {
		if got := DocumentID(key); got != want {
			t.Errorf("DocumentID(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestHasTarget(t *testing.T) {
	r := &Record{DeliveredTargets: []string{"A"}}
	if !r.HasTarget("A") || r.HasTarget("B") {
		t.Error("HasTarget is wrong about A or B")
	}
}
