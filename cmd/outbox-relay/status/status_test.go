package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
	"outboxrelay/relay"
)

func TestLaneTellsWhatIsUnsettled(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := laneOf(relay.LaneHealth{Lane: contracts.StandardLane, Waiting: 3, Unsettled: []relay.Unsettled{{Outbox: "wsOutbox", Records: 12, Since: since}}})
	want := admin.LaneStatus{Lane: contracts.StandardLane, Waiting: 3, Unsettled: []admin.Unsettled{{Outbox: "wsOutbox", Records: 12, Since: since}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
