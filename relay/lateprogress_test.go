package relay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// The progress of an owner before may be written after the record was read: what this
// one writes keeps it.
func TestProgressOfAnOwnerBeforeIsKept(t *testing.T) {
	for _, kind := range []settleKind{settleProgress, settleRetry, settleHeld} {
		t.Run(string(kind), func(t *testing.T) {
			r, _ := newTestRelay(t)
			e := testEntry(t, r, 1)
			e.rec.DeliveredTargets, e.rec.IdempotencyKey = []string{"FUNNEL"}, "k"
			st := retrySettlement(e, time.Now(), time.Now())
			st.kind = kind
			says := func(key string, target string) Doc {
				return Doc{ID: "a", Content: letterContent{map[string]any{
					contracts.FieldIdempotencyKey: key, contracts.FieldDeliveredTargets: []any{target}, contracts.FieldAttempts: int64(2),
				}}}
			}
			st.atLeast(says("another record's", "OTHER"))
			st.atLeast(says("k", "NOTIF_ROUTER"))
			st.fence = &dlq.Freeze{AggregateID: "agg", State: dlq.Frozen} // of a hold
			w := st.writes(nil)[0]
			if diff := cmp.Diff([]string{"FUNNEL", "NOTIF_ROUTER"}, w.Fields[contracts.FieldDeliveredTargets]); diff != "" {
				t.Errorf("delivered targets (-want +got):\n%s", diff)
			}
			if attempts := w.Fields[contracts.FieldAttempts]; kind == settleRetry && attempts != 2 {
				t.Errorf("attempts %v, want those of the one before", attempts)
			}
			if diff := cmp.Diff([]string{"FUNNEL"}, e.rec.DeliveredTargets); diff != "" {
				t.Errorf("the record, which is its lane's, has (-want +got):\n%s", diff)
			}
		})
	}
}
