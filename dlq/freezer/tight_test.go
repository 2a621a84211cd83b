package freezer_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

// tight has Firestore take no other status of the first n held records of an aggregate, by
// their IDs, as of ones that have no room for it. It returns these, and how many commits of
// such records there were.
func (f *fixture) tight(outbox, aggregate string, n int) (ids []string, commits *atomic.Int64) {
	f.T.Helper()
	docs, err := f.Store.Query(f.T.Context(), dlq.Query{
		Collection: outbox, OrderBy: []dlq.Order{{Field: dlq.FieldID}}, Limit: n, Where: []dlq.Where{
			{Field: contracts.FieldAggregateID, Op: "==", Value: aggregate}, {Field: contracts.FieldStatus, Op: "==", Value: string(contracts.Held)},
		},
	})
	if err != nil || len(docs) != n {
		f.T.Fatalf("got %d records and error %v, want %d", len(docs), err, n)
	}
	for _, d := range docs {
		ids = append(ids, d.ID)
	}
	commits = new(atomic.Int64)
	f.Server.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: outbox, Code: codes.InvalidArgument, Match: func(call localfirestore.Call) bool {
		r, _ := call.Request.(*pb.CommitRequest)
		commits.Add(1)
		return slices.ContainsFunc(r.GetWrites(), func(w *pb.Write) bool {
			name := w.GetUpdate().GetName()
			return strings.Contains(name, "/"+outbox+"/") && slices.Contains(ids, name[strings.LastIndexByte(name, '/')+1:])
		})
	}})
	return ids, commits
}

// More held records without room than are turned back together keep none that stand behind
// them from going on.
func TestAPageOfHeldRecordsWithoutRoomIsNotTheLast(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Hold("accOutbox", "WalletDeducted", "acc-1", 230)
	f.tight("accOutbox", "acc-1", 210)
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc-1")
	f.Eventually("it is released", func() bool { return !f.Frozen("acc-1") })
	if pending, held := f.Having("acc-1", contracts.Pending), f.Having("acc-1", contracts.Held); pending != 20 || held != 210 {
		t.Errorf("%d records are pending and %d held, want 20 and 210", pending, held)
	}
	f.told("acc-1", 20)
}

// A held record without room is told of, once, and those beside it are not turned back one
// by one for it, neither in its page nor in those behind it.
func TestAHeldRecordWithoutRoomIsToldOf(t *testing.T) {
	f := setup(t)
	core, logs := observer.New(zapcore.WarnLevel)
	var err error
	if f.Queue, err = dlq.New(dlq.Config{Store: f.Store, Catalog: f.Catalog, Log: zap.New(core)}); err != nil {
		t.Fatal(err)
	}
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	f.Hold("accOutbox", "WalletDeducted", "acc-1", 450)
	ids, commits := f.tight("accOutbox", "acc-1", 1)
	f.Freezer(&dlqtest.Topic{})
	f.Release("acc-1")
	f.Eventually("it is released", func() bool { return !f.Frozen("acc-1") })
	f.told("acc-1", 449)
	f.Eventually("it is counted", func() bool { return f.Counter("relay_dlq_releases_total", "done") == 1 })
	if n := f.Counter("relay_dlq_released_records_total"); n != 449 {
		t.Errorf("%v records are counted, want 449", n)
	}
	if n := commits.Load(); n > 25 {
		t.Errorf("%d commits, want few", n)
	}
	told := logs.All()
	if len(told) != 1 || told[0].ContextMap()["record"] != ids[0] || told[0].ContextMap()["outbox"] != "accOutbox" {
		t.Errorf("told: %v, want the one record, once", told)
	}
}
