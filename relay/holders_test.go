package relay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/relay/lease"
)

func TestHealthOfAnOutboxByItsLease(t *testing.T) {
	const sick, well = `{"healthy":false,"inMemory":3,"leftBehind":2,"pending":9}`, `{"healthy":true,"inMemory":1,"leftBehind":0,"pending":1}`
	since := time.Unix(1000, 0)
	here := OutboxHealth{Here: true, Healthy: true, Pending: 5}
	tests := []struct {
		name string
		was  OutboxHealth
		by   lease.Holder
		want OutboxHealth
	}{
		{"free", OutboxHealth{Pending: -1}, lease.Holder{}, OutboxHealth{Lease: LeaseFree, Pending: -1}},
		{
			"another's, which said nothing yet",
			OutboxHealth{Pending: -1},
			lease.Holder{Owner: "b", Since: since, Term: time.Minute, Valid: true},
			OutboxHealth{Lease: LeaseHeld, Owner: "b", Since: &since, Healthy: true, Pending: -1},
		},
		{
			"another's, well",
			OutboxHealth{Pending: -1},
			lease.Holder{Owner: "b", Since: since, Term: time.Minute, Valid: true, Note: well},
			OutboxHealth{Lease: LeaseHeld, Owner: "b", Since: &since, Healthy: true, InMemory: 1, Pending: 1},
		},
		{
			"another's, sick",
			OutboxHealth{Pending: -1},
			lease.Holder{Owner: "b", Since: since, Term: time.Minute, Valid: true, Note: sick},
			OutboxHealth{Lease: LeaseHeld, Owner: "b", Since: &since, InMemory: 3, LeftBehind: 2, Pending: 9},
		},
		{
			"another's, run out",
			OutboxHealth{Pending: -1},
			lease.Holder{Owner: "b", Since: since, Term: time.Minute, Age: time.Hour},
			OutboxHealth{Lease: LeaseExpired, Owner: "b", Since: &since, Pending: -1},
		},
		{
			"ours", here,
			lease.Holder{Owner: "a", Since: since, Term: time.Minute, Mine: true, Valid: true},
			OutboxHealth{Here: true, Lease: LeaseHeld, Owner: "a", Since: &since, Healthy: true, Pending: 5},
		},
		{
			"ours, lapsed", here,
			lease.Holder{Owner: "a", Since: since, Term: time.Minute, Mine: true},
			OutboxHealth{Here: true, Lease: LeaseLapsed, Owner: "a", Since: &since, Pending: 5},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.was
			if !got.Here {
				got.noted(test.by.Note)
			}
			got.leased(test.by)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("health (want -, got +):\n%s", diff)
			}
		})
	}
}

// An instance whose leases have lapsed can do no work, however lately its listeners were heard.
func TestAnOutboxWorksWhereItsLeaseIsValid(t *testing.T) {
	alive, dead := []ListenerHealth{{State: stateRebuilding}, {State: stateAlive}}, []ListenerHealth{{State: stateUnproven}}
	for name, test := range map[string]struct {
		health OutboxHealth
		want   bool
	}{
		"ours":                    {OutboxHealth{Here: true, Lease: LeaseHeld, Listeners: alive}, true},
		"ours, no listener works": {OutboxHealth{Here: true, Lease: LeaseHeld, Listeners: dead}, false},
		"ours, lapsed":            {OutboxHealth{Here: true, Lease: LeaseLapsed, Listeners: alive}, false},
		"without leases":          {OutboxHealth{Here: true, Listeners: alive}, true},
		"another's":               {OutboxHealth{Lease: LeaseHeld}, false},
	} {
		if got := test.health.works(); got != test.want {
			t.Errorf("%s: works %t, want %t", name, got, test.want)
		}
	}
}
