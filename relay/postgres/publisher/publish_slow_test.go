package publisher

import (
	"context"
	"errors"
	"testing"
	"time"

	"outboxrelay/ier"
)

// slowTopic takes one message of each call, and sits over the second until the call is to end.
type slowTopic struct{ *shelf }

// Deliver implements ier.Target.
func (s slowTopic) Deliver(ctx context.Context, parcels []ier.Parcel) []error {
	errs := s.shelf.Deliver(ctx, parcels[:1])
	if len(parcels) == 1 {
		return errs
	}
	<-ctx.Done()
	errs = append(errs, errors.New("no answer")) // which may be taken for the row's own fault
	for range parcels[2:] {
		errs = append(errs, ier.ErrBehind)
	}
	return errs
}

// Over a link that is too slow for a whole batch each round marks what it got through, and counts no attempt.
func TestRoundThatTakesTooLongMarksWhatWentThrough(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	list := events(2, 6)
	f.append(list...)
	o := f.options()
	o.Target = slowTopic{f.shelf}
	o.MaxAttempts = 1
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.sending = 100 * time.Millisecond
	f.run(p)
	f.awaitPublished()
	f.judge(list)
	if got := len(f.shelf.messages()); got != len(list) {
		t.Errorf("%d messages of %d rows", got, len(list))
	}
	if n := f.count("attempt_count <> 0 OR last_error IS NOT NULL"); n != 0 {
		t.Errorf("%d rows have an attempt", n)
	}
}

func TestSlowTopicIsOutOnlyWhereItTakesNothing(t *testing.T) {
	for _, test := range []struct {
		v    verdict
		want bool
	}{
		{verdict{outages: 1}, true},
		{verdict{outages: 1, published: make([]*row, 1)}, true},
		{verdict{outages: 1, cut: true}, true},
		{verdict{outages: 1, cut: true, published: make([]*row, 1)}, false},
		{verdict{cut: true}, false},
	} {
		if got := test.v.out(); got != test.want {
			t.Errorf("%+v is out: %v", test.v, got)
		}
	}
}
