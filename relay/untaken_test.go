package relay

import (
	"context"
	"errors"
	"testing"
	"time"
)

// unreadable is a store whose listener tells of some documents, and whose pages fail.
type unreadable struct {
	Store
	tells Snapshot
}

func (unreadable) Page(context.Context, Scan) ([]Doc, error) { return nil, errBroken }

func (u unreadable) Watch(ctx context.Context, _ Scan) (Stream, error) {
	return &oneSnapshot{ctx, &u.tells}, nil
}

type oneSnapshot struct {
	ctx   context.Context
	tells *Snapshot
}

func (s *oneSnapshot) Next() (Snapshot, error) {
	if s.tells != nil {
		tells := *s.tells
		s.tells = nil
		return tells, nil
	}
	<-s.ctx.Done()
	return Snapshot{}, s.ctx.Err()
}

var errBroken = errors.New("broken")

// A commit before the feed's cursor that fills the window and cannot be read to its end
// is read again: no listener that starts at the cursor would tell of it.
func TestWhatFillsAWindowIsReadThoughItsCommitCannotBe(t *testing.T) {
	r := testReader(t)
	r.window = 2
	early := docOf(1, 20*time.Second)
	twin := docOf(2, 20*time.Second)
	r.outbox.store = unreadable{tells: Snapshot{Changed: []Doc{early, twin}, Size: 2}}
	if ok, err := r.take(t.Context(), r.decode(t.Context(), []Doc{docOf(3, 10*time.Second)}), generationOf(r), 0); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := r.listen(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("it ended with %v", err)
	}
	if cursor, _ := r.intake.start(); !cursor.Before(early.position()) {
		t.Errorf("the feed reads on from %v, behind what it was told of at %v", cursor, early.position())
	}
}

func generationOf(r *reader) int {
	_, generation := r.intake.start()
	return generation
}
