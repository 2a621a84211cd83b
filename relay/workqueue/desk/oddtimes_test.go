package desk_test

import (
	"testing"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/relay/workqueue/desk"
)

// TestPagesBehindOddTimes: a producer may write createdAt as anything. All documents are listed
// all the same, each once.
func TestPagesBehindOddTimes(t *testing.T) {
	for name, odd := range map[string]any{"a text": "2026-03-01T10:00:00Z", "null": nil, "a number": 1772359200000, "a map": map[string]any{"seconds": 1}} {
		t.Run(name, func(t *testing.T) {
			r := onEmbedded(t)
			want := map[string]bool{}
			for n := range 3 {
				want[r.job("org-1", "pending", n, nil)] = true
				want[r.job("org-1", "pending", n, map[string]any{"createdAt": odd})] = true
			}
			got := map[string]int{}
			for p := (dlq.Page{Limit: 2}); ; {
				page, err := r.Items(t.Context(), "jobs", desk.Filter{}, p)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range page.Items {
					if got[i.ID]++; got[i.ID] > 1 {
						t.Fatalf("%s is listed twice", i.ID)
					}
				}
				if p.Token = page.Next; p.Token == "" {
					break
				}
			}
			for id := range want {
				if got[id] != 1 {
					t.Errorf("%s is listed %d times", id, got[id])
				}
			}
		})
	}
}

// TestOldestBesideOddTimes: a document that was created at no time does not hide how old another is.
func TestOldestBesideOddTimes(t *testing.T) {
	for name, odd := range map[string]any{"a text": "2026-03-01T10:00:00Z", "null": nil, "a number": 7} {
		r := onEmbedded(t)
		r.job("org-1", "pending", 3, nil)
		r.job("org-1", "pending", 1, map[string]any{"createdAt": odd})
		got, err := r.Overviews(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := began.Add(3 * time.Second); !got[0].Oldest.Equal(want) {
			t.Errorf("%s: the oldest of %s is of %v, want %v", name, got[0].Queue, got[0].Oldest, want)
		}
	}
}
