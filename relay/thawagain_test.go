package relay

import (
	"context"
	"testing"

	"outboxrelay/dlq"
	"outboxrelay/relay/feed"
)

// interrupted are records that are looked through only once something else has
// happened.
type interrupted struct {
	modelRecords
	meanwhile func()
}

func (r *interrupted) Page(ctx context.Context, scan Scan) ([]Doc, error) {
	if f := r.meanwhile; f != nil {
		r.meanwhile = nil
		f()
	}
	return r.modelRecords.Page(ctx, scan)
}

// A thaw looks for the aggregate's oldest records while it is frozen and released once
// more. What it finds is older than that: records may have been taken since, to be held,
// and their holds be on their way, so that the younger ones would get ahead of them. It
// ends nothing; the next thaw does.
func TestAThawEndsNoOtherThanItself(t *testing.T) {
	m := newFreezesModel(t)
	again := func() {
		m.view.told([]*dlq.Freeze{m.write(dlq.Frozen)})
		m.server.freeze = nil
		m.view.told(nil)
		if err := m.view.settleDoubts(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	again()
	m.wantTwoThaws(t, again)
}

// The same without a freeze in between: records were held that should not have been, and
// are pending again, older ones than the thaw under way may have found.
func TestAThawIsNotEndedByWhatItFoundBeforeMoreBecamePending(t *testing.T) {
	m := newFreezesModel(t)
	unfreeze := func() { m.view.unfreeze(m.outbox, modelAggregate) }
	unfreeze()
	m.wantTwoThaws(t, unfreeze)
}

// wantTwoThaws has something happen while the first thaw looks through the records, and
// wants the second to be the one that lets them go on.
func (m *freezesModel) wantTwoThaws(t *testing.T, meanwhile func()) {
	t.Helper()
	m.outbox.store = &interrupted{meanwhile: meanwhile}
	for _, want := range []feed.Standing{feed.Thawing, feed.Free} {
		if m.thaw(); m.standing() != want {
			t.Fatalf("it is %v, want %v", m.standing(), want)
		}
	}
}
