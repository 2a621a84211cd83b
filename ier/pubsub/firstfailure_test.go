package pubsub

import (
	"errors"
	"testing"

	gpubsub "cloud.google.com/go/pubsub/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

// The client's pause of a key is never taken for a failure of the message: it
// would count as an attempt, and what paused the key may be an outage.
func TestFirstFailureLooksBehindTheClientsPause(t *testing.T) {
	paused := gpubsub.ErrPublishingPaused{OrderingKey: "key"}
	for _, c := range []struct {
		name    string
		answers []error
		kind    contracts.Kind
		code    string // "" for no failure
	}{
		{"none", []error{nil, nil}, 0, ""},
		{"behind others alone", []error{nil, ier.ErrBehind}, 0, ""},
		{"a pause in front of an outage", []error{nil, paused, status.Error(codes.Unavailable, "down"), paused}, contracts.Outage, "Unavailable"},
		{"a pause in front of a refusal", []error{paused, status.Error(codes.InvalidArgument, "no"), ier.ErrBehind}, contracts.Permanent, "InvalidArgument"},
		{"a pause for no reason", []error{nil, paused, paused}, contracts.Outage, codePaused},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := firstFailure(c.answers)
			if c.code == "" {
				if got != nil {
					t.Errorf("got %v, want no failure", got)
				}
				return
			}
			if got == nil || got.Kind != c.kind || got.Code != c.code {
				t.Errorf("got %+v, want %v %s", got, c.kind, c.code)
			}
			if c.code == codePaused && !errors.As(got, new(gpubsub.ErrPublishingPaused)) {
				t.Errorf("%v does not say that the key was paused", got)
			}
		})
	}
}
