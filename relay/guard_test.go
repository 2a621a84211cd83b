package relay_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	vkit "cloud.google.com/go/firestore/apiv1"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"outboxrelay/contracts"
	"outboxrelay/relay"
)

// What reads an outbox may panic: it goes on, and so do the others.
func TestAPanicEndsNoPartOfTheRelay(t *testing.T) {
	const times = 3 // each
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval = 50 * time.Millisecond
	var mu sync.Mutex
	thrown := make(map[string]int)
	var paging atomic.Bool // pages are read without a panic
	throw := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		if thrown[what] < times {
			thrown[what]++
			panic(what)
		}
	}
	f.wrapStore = func(store relay.Store) relay.Store {
		return &storeFunc{Store: store, page: func(ctx context.Context, s relay.Scan) ([]relay.Doc, error) {
			switch {
			case s.Outbox != "wsOutbox":
			case s.Kind == relay.ScanLane && !paging.Load():
				panic("page")
			}
			return store.Page(ctx, s)
		}, count: func(ctx context.Context, scans ...relay.Scan) ([]int64, error) {
			if scans[0].Outbox == "wsOutbox" && scans[0].Kind == relay.ScanUnsettled {
				throw("sweep")
			}
			return store.Count(ctx, scans...)
		}, watch: func(ctx context.Context, s relay.Scan) (relay.Stream, error) {
			if s.Outbox == "wsOutbox" {
				throw("listener")
			}
			return store.Watch(ctx, s)
		}}
	}
	r := f.run()
	// A page is read for a sweep, too: all panic until a reader has.
	f.eventually("a reader panics", func() bool { return r.metric("relay_panics_total", "part", "reader") > 0 })
	paging.Store(true)
	records := f.series("wsOutbox", "TaskCompleted", "agg", 1, 20)
	f.append(records, 5)
	if got, want := f.delivered(records), (judgement{}); got != want {
		t.Errorf("got %+v, want every record once and in order", got)
	}
	f.eventually("sweeps go on", func() bool {
		return r.outbox("wsOutbox").Pending >= 0 && r.metric("relay_panics_total", "part", "sweep") >= times
	})
	f.swept(r, "wsOutbox", 2)
	if n := r.metric("relay_panics_total", "part", "listener"); n != times {
		t.Errorf("%v panics of the listener are counted, want %d", n, times)
	}
}

// vectorOfIntegers is a value that Firestore takes and the SDK cannot decode.
var vectorOfIntegers = &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: map[string]*pb.Value{
	"__type__": {ValueType: &pb.Value_StringValue{StringValue: "__vector__"}},
	"value": {ValueType: &pb.Value_ArrayValue{ArrayValue: &pb.ArrayValue{
		Values: []*pb.Value{{ValueType: &pb.Value_IntegerValue{IntegerValue: 1}}},
	}}},
}}}}

// unknown puts a value into a field of a record that the SDK cannot decode.
func (f *fixture) unknown(r *contracts.Record, field string) {
	f.t.Helper()
	conn, err := grpc.NewClient(f.cloud.firestore, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	raw, err := vkit.NewClient(f.ctx, option.WithGRPCConn(conn))
	if err != nil {
		f.t.Fatal(err)
	}
	database := "projects/" + f.cloud.project + "/databases/(default)"
	_, err = raw.Commit(f.ctx, &pb.CommitRequest{Database: database, Writes: []*pb.Write{{
		Operation: &pb.Write_Update{Update: &pb.Document{
			Name: database + "/documents/" + r.Path(),
			Fields: map[string]*pb.Value{
				field:                 vectorOfIntegers,
				contracts.FieldStatus: {ValueType: &pb.Value_StringValue{StringValue: string(contracts.Pending)}},
			},
		}},
		UpdateMask: &pb.DocumentMask{FieldPaths: []string{field, contracts.FieldStatus}},
	}}})
	if err != nil {
		f.t.Fatal(err)
	}
}

// statusOf reads a record's status alone.
func (f *fixture) statusOf(r *contracts.Record) any {
	f.t.Helper()
	snap, err := f.db.Doc(r.Path()).Get(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	status, err := snap.DataAt(contracts.FieldStatus)
	if err != nil {
		f.t.Fatal(err)
	}
	return status
}

// A record over which the SDK panics is a dead letter that says so. All others
// are delivered, and nothing is rebuilt.
func TestARecordThatCannotBeDecodedIsADeadLetter(t *testing.T) {
	f := setup(t, newCloud(t))
	f.tuning.SweepInterval, f.tuning.SweepAge = 100*time.Millisecond, 600*time.Millisecond
	records := f.series("wsOutbox", "TaskCompleted", "agg", 1, 6)
	broken := map[*contracts.Record]string{records[1]: contracts.FieldPayload, records[3]: "extra", records[4]: contracts.FieldLane}
	for _, r := range records {
		fields := r.ProducerFields()
		fields[contracts.FieldCreatedAt] = firestore.ServerTimestamp
		if broken[r] != "" {
			fields[contracts.FieldStatus] = string(contracts.Held)
		}
		if _, err := f.db.Doc(r.Path()).Create(f.ctx, fields); err != nil {
			t.Fatal(err)
		}
	}
	for r, field := range broken {
		f.unknown(r, field)
	}
	r := f.run()
	sound := []*contracts.Record{records[0], records[2], records[5]}
	if got, want := f.delivered(sound), (judgement{}); got != want {
		t.Errorf("got %+v, want every sound record once and in order", got)
	}
	for rec, field := range broken {
		f.eventually("the one with a broken "+field+" is dead", func() bool { return f.statusOf(rec) == string(contracts.Dead) })
		letter := f.deadLetters()[rec.IdempotencyKey]
		errs, _ := letter["errors"].([]any)
		if letter["reason"] != string(contracts.ContractViolation) || len(errs) == 0 {
			t.Fatalf("%s: got %v with errors %v", field, letter["reason"], errs)
		}
		first, _ := errs[0].(map[string]any)
		record, _ := letter["record"].(map[string]any)
		if message, _ := first["message"].(string); !strings.Contains(message, "panic") {
			t.Errorf("%s: the first error is %q, want the panic", field, message)
		}
		if letter["recordTrimmed"] != true || record[contracts.FieldPayload] != nil || record[contracts.FieldEventID] != rec.EventID {
			t.Errorf("%s: its copy has payload %v and event %v; want the record without its payload", field, record["payload"], record["eventId"])
		}
	}
	if n := r.metric("relay_listener_rebuilds_total", "outbox", "wsOutbox"); n != 0 {
		t.Errorf("%v listeners were rebuilt, want none", n)
	}
}
