package follower

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/dlq"
)

// letters are dead letters that a listener shows, from and up to a number, the
// latest first.
func letters(from, to int) []document {
	var all []document
	for n := to; n >= from; n-- {
		id := fmt.Sprint(n)
		all = append(all, document{id, time.Unix(int64(n), 0), Change{dlq.SubjectDeadLetter, id}})
	}
	return all
}

// TestMoreThanIsShown: where none is left of what a listener showed, others may have
// come and gone between, which the zero Change tells.
func TestMoreThanIsShown(t *testing.T) {
	told := func(docs []document) []Change {
		var all []Change
		for _, d := range docs {
			all = append(all, d.change)
		}
		return all
	}
	for _, c := range []struct {
		name          string
		before, after []document
		want          []Change
	}{
		{"nothing changed", letters(1, followed), letters(1, followed), nil},
		{"all but one are new", letters(1, followed), letters(followed, 2*followed-1), told(letters(followed+1, 2*followed-1))},
		{"all are new, so there may be others", letters(1, followed), letters(followed+1, 2*followed), append(told(letters(followed+1, 2*followed)), Change{})},
		{"as many as are shown come where none was", nil, letters(1, followed), append(told(letters(1, followed)), Change{})},
		{"all are new, and all are shown", letters(1, 2), letters(3, followed), told(letters(3, followed))},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &latest{}
			if diff := cmp.Diff([]Change{{}}, l.changes(c.before)); diff != "" {
				t.Errorf("changes as it begins (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, l.changes(c.after)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}
