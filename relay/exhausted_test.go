package relay

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// What a failure says of itself decides on reason and tier of the dead letter
// that exhausted attempts end in. NOTIF_ROUTER plays the handler of claims; the
// catalog's tier is REVIEW_REQUIRED.
func TestExhaustedAttemptsAreDeadLetteredAsTheirFailureSays(t *testing.T) {
	fails := func(target string, kind contracts.Kind, reason contracts.Reason) ier.Outcome {
		return ier.Outcome{Failed: []ier.TargetFailure{{Target: target, Kind: kind, Code: "Some", Message: "some", Reason: reason}}}
	}
	const claims = contracts.ClaimsRefreshFailed
	type letter struct {
		Tier, OriginalTier contracts.Tier
		State              contracts.DeadState
		Reason             contracts.Reason
		Attempts           int
	}
	blocked := func(attempts int) letter {
		return letter{contracts.SecurityBlock, contracts.SecurityBlock, contracts.DeadBlocked, claims, attempts}
	}
	review := func(reason contracts.Reason, attempts int) letter {
		return letter{contracts.ReviewRequired, contracts.ReviewRequired, contracts.DeadAwaitingReview, reason, attempts}
	}
	tests := []struct {
		name   string
		rounds []ier.Outcome
		want   letter
	}{
		{"no reason", []ier.Outcome{
			fails("FUNNEL", contracts.Attributable, ""), fails("FUNNEL", contracts.Attributable, ""), fails("FUNNEL", contracts.Attributable, ""),
		}, review(contracts.AttemptsExhausted, 3)},
		{"claims", []ier.Outcome{
			fails("NOTIF_ROUTER", contracts.Attributable, claims), fails("NOTIF_ROUTER", contracts.Attributable, claims), fails("NOTIF_ROUTER", contracts.Attributable, claims),
		}, blocked(3)},
		{"claims, though another target failed last", []ier.Outcome{
			fails("NOTIF_ROUTER", contracts.Attributable, claims), fails("FUNNEL", contracts.Attributable, ""), fails("FUNNEL", contracts.Attributable, ""),
		}, blocked(3)},
		{"claims that were set after all", []ier.Outcome{
			fails("NOTIF_ROUTER", contracts.Attributable, claims),
			{Acked: []string{"NOTIF_ROUTER"}, Failed: fails("FUNNEL", contracts.Attributable, "").Failed},
			fails("FUNNEL", contracts.Attributable, ""),
		}, review(contracts.AttemptsExhausted, 3)},
		{"claims, permanently", []ier.Outcome{fails("NOTIF_ROUTER", contracts.Permanent, claims)}, letter{
			contracts.SecurityBlock, contracts.SecurityBlock, contracts.DeadBlocked, contracts.PermanentFailure, 1,
		}},
		{"permanently", []ier.Outcome{fails("NOTIF_ROUTER", contracts.Permanent, "")}, review(contracts.PermanentFailure, 1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, _ := newTestRelay(t)
			e := testEntry(t, r, 0)
			for _, round := range test.rounds {
				r.conclude(t.Context(), e, round, nil)
			}
			var st *settlement
			for s := r.settlers[e.lane]; len(s.queue) > 0; s.superseded(st) { // the last one tells
				st, s.queue = s.queue[0], s.queue[1:]
			}
			if st.dead == nil {
				t.Fatalf("it is not dead, but settled as %s", st.kind)
			}
			i := st.dead.item
			if diff := cmp.Diff(test.want, letter{i.Tier, i.OriginalTier, i.State, i.Reason, i.Attempts}); diff != "" {
				t.Errorf("dead letter (-want +got):\n%s", diff)
			}
		})
	}
}

// A failure that counts after many outages is the claims' failure, too.
func TestOutagesThatCountKeepTheirReason(t *testing.T) {
	r, _ := newTestRelay(t)
	e := testEntry(t, r, 2)
	e.outages = r.tuning.OutageTolerance
	r.conclude(t.Context(), e, ier.Outcome{Failed: []ier.TargetFailure{{
		Target: "NOTIF_ROUTER", Kind: contracts.Outage, Code: "Contended", Reason: contracts.ClaimsRefreshFailed,
	}}}, nil)
	i := r.settlers[e.lane].queue[0].dead.item
	if i.Reason != contracts.ClaimsRefreshFailed || i.Tier != contracts.SecurityBlock || i.State != contracts.DeadBlocked {
		t.Errorf("dead letter of tier %s, %s, reason %s", i.Tier, i.State, i.Reason)
	}
}
