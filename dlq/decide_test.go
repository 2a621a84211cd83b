package dlq

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestBounded(t *testing.T) {
	list := make([]int, 50)
	for n := range list {
		list[n] = n
	}
	got := bounded(list, 50, 51)
	want := append(append([]int{}, list[:10]...), list[12:]...)
	want = append(want, 50, 51)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if len(list) != 50 || list[12] != 12 {
		t.Errorf("the list itself changed: %v", list)
	}
}

func TestUnfitSaysWhatToDo(t *testing.T) {
	for _, tier := range contracts.Tiers() {
		for _, state := range States() {
			for _, replaying := range []bool{false, true} {
				i := &Item{Tier: tier, State: state}
				if replaying {
					i.Replaying = &Request{By: "somebody"}
				}
				for _, a := range []Action{Replay, Discard, Authorize, Withdraw} {
					if r := unfit(i, a); r.Kind != Conflict || r.Detail == "" {
						t.Errorf("%s of %s, %s: %+v", a, tier, state, r)
					}
				}
			}
		}
	}
}

func TestLeastRole(t *testing.T) {
	for _, tc := range []struct {
		tier   contracts.Tier
		action Action
		want   Role
	}{
		{contracts.SafeAuto, Replay, Operator},
		{contracts.SafeAuto, Discard, NoRole},
		{contracts.ReviewRequired, Discard, Operator},
		{contracts.SecurityBlock, Authorize, Security},
		{contracts.SecurityBlock, Discard, Security},
		{contracts.SecurityBlock, Replay, Operator},
		{contracts.SecurityBlock, Withdraw, Security},
		{contracts.ReviewRequired, Withdraw, Operator},
		{contracts.SafeAuto, Withdraw, NoRole},
		{contracts.SecurityBlock, Note, Operator},
		{contracts.SecurityBlock, Delivered, NoRole},
	} {
		if got := leastRole(tc.tier, tc.action); got != tc.want {
			t.Errorf("%s of %s needs %s, want %s", tc.action, tc.tier, got, tc.want)
		}
	}
}
