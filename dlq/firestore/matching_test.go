package firestore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func testMatching(t *testing.T, f *fixture) {
	for n := range 3 {
		f.die("accOutbox", "WalletDeducted", fmt.Sprint("a", n), 1)
	}
	last := f.die("accOutbox", "RoleChanged", "b", 1)
	for _, tc := range []struct {
		filter dlq.Filter
		want   int64
	}{{dlq.Filter{}, 4}, {dlq.Filter{Tier: contracts.ReviewRequired, Open: new(true)}, 3}, {dlq.Filter{To: last.DeadAt.AddDate(0, 0, -1)}, 0}} {
		n, more, err := f.queue.Matching(t.Context(), tc.filter)
		if err != nil || n != tc.want || more {
			t.Errorf("%+v: got %d, more %t, %v; want %d", tc.filter, n, more, err, tc.want)
		}
	}
	_, _, err := f.queue.Matching(t.Context(), dlq.Filter{Tier: "TOP"})
	refused(t, err, dlq.Invalid)
	if _, _, err := f.queue.Matching(t.Context(), dlq.Filter{TraceID: strings.Repeat("x", 1499)}); err != nil {
		t.Errorf("the longest text: %v", err)
	}
	_, _, err = f.queue.Matching(t.Context(), dlq.Filter{TraceID: strings.Repeat("x", 1500)})
	refused(t, err, dlq.Invalid)
}

func testNamed(t *testing.T, f *fixture) {
	one := f.die("accOutbox", "WalletDeducted", "a", 1)
	two := f.die("accOutbox", "WalletDeducted", "b", 1)
	items, err := f.queue.Named(t.Context(), []string{two.ID, "gone", "not/possible", two.ID, "", one.ID})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, i := range items {
		ids = append(ids, i.ID)
		if i.Record != nil {
			t.Errorf("%s comes with its record", i.ID)
		}
	}
	if diff := cmp.Diff([]string{two.ID, one.ID}, ids); diff != "" {
		t.Errorf("IDs (-want +got):\n%s", diff)
	}
	if items, err := f.queue.Named(t.Context(), nil); err != nil || len(items) != 0 {
		t.Errorf("got %d, %v for no IDs", len(items), err)
	}
	_, err = f.queue.Named(t.Context(), make([]string, dlq.MaxPage+1))
	refused(t, err, dlq.Invalid)
}
