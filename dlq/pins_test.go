package dlq

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestChunksHoldAllPinsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Pin
		size := rapid.SampledFrom([]int{10, 1500}).Draw(t, "bytes of an ID")
		for n := range rapid.IntRange(0, 1300).Draw(t, "pins") {
			want = append(want, Pin{ID: fmt.Sprintf("%0*d", size, n), DeadAt: time.Unix(int64(n), 0), Replays: n % 5, Line: fmt.Sprint(n % 7), Consumer: []string{"", "one"}[n%2]})
		}
		var got []Pin
		last := ""
		for _, w := range chunks("b", want) {
			items, _ := w.Fields[pinItems].([]any)
			if len(items) > chunkPins || len(items)*size > chunkBytes {
				t.Fatalf("%d items of %d bytes in a document", len(items), size)
			}
			if w.ID <= last {
				t.Fatalf("document %s after %s", w.ID, last)
			}
			last = w.ID
			for _, i := range items { // as the store gives integers back
				m, _ := i.(map[string]any)
				m[pinReplays] = int64(m[pinReplays].(int))
			}
			got = append(got, decodePins(Doc{Fields: w.Fields})...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("pins (-want +got):\n%s", diff)
		}
	})
}
