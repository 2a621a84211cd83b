package freezer_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// Releases of accounts that are released one after another, beside ones whose held
// records cannot be written, or whose commits hang, do not wait for these.
func TestAReleaseThatFailsHoldsUpNoOther(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault localfirestore.Fault
	}{
		{"refused", localfirestore.Fault{Code: codes.Unavailable}},
		{"hanging", localfirestore.Fault{Delay: time.Hour}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := setup(t)
			f.Config.RetryMin, f.Config.RetryMax, f.Config.Poll = 0, 0, 0 // as in service
			f.Config.CallBound = time.Hour                                // so that nobody who waits for a call passes
			bad := []string{"bad-1", "bad-2"}
			for _, id := range bad {
				f.Die("accOutbox", "RoleChanged", id, 1)
				f.Hold("accOutbox", "RoleChanged", id, 3)
			}
			var mu sync.Mutex
			met := make(map[string]bool)
			c.fault.Method = "Commit"
			c.fault.Match = func(call localfirestore.Call) bool {
				r, _ := call.Request.(*pb.CommitRequest)
				held := slices.IndexFunc(bad, func(id string) bool {
					return slices.ContainsFunc(r.GetWrites(), func(w *pb.Write) bool {
						return strings.Contains(w.GetUpdate().GetName(), "/accOutbox/") && strings.Contains(w.GetUpdate().GetName(), id)
					})
				})
				if held >= 0 {
					mu.Lock()
					met[bad[held]] = true
					mu.Unlock()
				}
				return held >= 0
			}
			mend := f.Server.Faults().Add(c.fault)
			defer mend()
			f.Freezer(&dlqtest.Topic{})
			release := func(id string) {
				if _, err := f.Queue.Release(t.Context(), id, dlq.Release{Actor: dlqtest.Security, Reason: "mended"}); err != nil {
					t.Fatal(err)
				}
			}
			released := func(id string) func() bool {
				return func() bool { _, err := f.Queue.Freeze(t.Context(), id); return err != nil }
			}
			for _, id := range bad {
				release(id)
				f.Eventually("its records cannot be written", func() bool {
					mu.Lock()
					defer mu.Unlock()
					return met[id]
				})
			}
			for n := range 4 {
				id := fmt.Sprintf("good-%d", n)
				f.Die("accOutbox", "RoleChanged", id, 1)
				f.Hold("accOutbox", "RoleChanged", id, 3)
				release(id)
				f.Eventually("it is released", released(id))
			}
			if released(bad[0])() || released(bad[1])() {
				t.Error("what cannot be released is released")
			}
			mend()
			for _, id := range bad {
				f.Eventually("it is released in the end", released(id))
			}
		})
	}
}
