package firestore_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	gcp "cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/firestore"
)

const testDatabase = "projects/test/databases/(default)"

// raw returns a client that neither retries nor hides anything.
func raw(t *testing.T, addr string) pb.FirestoreClient {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return pb.NewFirestoreClient(conn)
}

func put(ctx context.Context, c pb.FirestoreClient, path string) error {
	_, err := c.Commit(ctx, &pb.CommitRequest{Database: testDatabase, Writes: []*pb.Write{{
		Operation: &pb.Write_Update{Update: &pb.Document{Name: testDatabase + "/documents/" + path}},
	}}})
	return err
}

func has(t *testing.T, c pb.FirestoreClient, path string) bool {
	t.Helper()
	_, err := c.GetDocument(t.Context(), &pb.GetDocumentRequest{Name: testDatabase + "/documents/" + path})
	if code := status.Code(err); code != codes.OK && code != codes.NotFound {
		t.Fatal(err)
	}
	return err == nil
}

func codesOf(n int, call func() error) (out []codes.Code) {
	for range n {
		out = append(out, status.Code(call()))
	}
	return out
}

func count(list []codes.Code, c codes.Code) (n int) {
	for _, x := range list {
		if x == c {
			n++
		}
	}
	return n
}

func TestFaultsByCode(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	c := raw(t, addr)
	commit := func() error { return put(t.Context(), c, "c/x") }

	t.Run("the third call", func(t *testing.T) {
		remove := s.Faults().Add(firestore.Fault{Method: "Commit", Skip: 2, Times: 1, Code: codes.Aborted})
		defer remove()
		got := codesOf(5, commit)
		if got[2] != codes.Aborted || count(got, codes.OK) != 4 {
			t.Errorf("want the third to be aborted, got %v", got)
		}
	})
	t.Run("the full name, until removed", func(t *testing.T) {
		remove := s.Faults().Add(firestore.Fault{Method: "/google.firestore.v1.Firestore/Commit", Code: codes.PermissionDenied})
		if got := codesOf(3, commit); count(got, codes.PermissionDenied) != 3 {
			t.Errorf("want three refusals, got %v", got)
		}
		remove()
		if err := commit(); err != nil {
			t.Errorf("want none after removal, got %v", err)
		}
	})
	t.Run("a share", func(t *testing.T) {
		remove := s.Faults().Add(firestore.Fault{Method: "Commit", Share: 0.3, Seed: 7, Code: codes.Unavailable})
		defer remove()
		if n := count(codesOf(200, commit), codes.Unavailable); n < 40 || n > 80 {
			t.Errorf("want about 60 of 200, got %d", n)
		}
	})
	t.Run("a collection, and a predicate", func(t *testing.T) {
		defer s.Faults().Clear()
		s.Faults().Add(firestore.Fault{Collection: "sick", Code: codes.Internal})
		s.Faults().Add(firestore.Fault{Code: codes.DataLoss, Match: func(c firestore.Call) bool {
			r, ok := c.Request.(*pb.GetDocumentRequest)
			return ok && strings.HasSuffix(r.GetName(), "/odd")
		}})
		if got := status.Code(put(t.Context(), c, "sick/x")); got != codes.Internal {
			t.Errorf("want the sick collection to fail, got %v", got)
		}
		if err := commit(); err != nil {
			t.Errorf("want the other to work, got %v", err)
		}
		_, err := c.GetDocument(t.Context(), &pb.GetDocumentRequest{Name: testDatabase + "/documents/c/odd"})
		if status.Code(err) != codes.DataLoss {
			t.Errorf("want the predicate to decide, got %v", err)
		}
	})
	t.Run("a streaming call", func(t *testing.T) {
		defer s.Faults().Add(firestore.Fault{Method: "RunQuery", Collection: "c", Times: 1, Code: codes.FailedPrecondition})()
		query := func() error {
			_, err := dial(t, addr).Collection("c").Documents(t.Context()).GetAll()
			return err
		}
		if got := codesOf(2, query); got[0] != codes.FailedPrecondition || got[1] != codes.OK {
			t.Errorf("want the first to fail, got %v", got)
		}
	})
}

func TestFaultLosesAResponse(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	c := raw(t, addr)
	defer s.Faults().Add(firestore.Fault{Method: "Commit", Times: 1, LoseResponse: true})()
	if err := put(t.Context(), c, "c/x"); status.Code(err) != codes.Unavailable {
		t.Fatalf("want Unavailable, got %v", err)
	}
	if !has(t, c, "c/x") {
		t.Fatal("want the commit to be applied")
	}
}

func TestFaultDelays(t *testing.T) {
	t.Parallel()
	s, addr := start(t, firestore.Options{})
	c := raw(t, addr)
	defer s.Faults().Add(firestore.Fault{Method: "Commit", Delay: 60 * time.Millisecond})()
	began := time.Now()
	if err := put(t.Context(), c, "c/x"); err != nil || time.Since(began) < 60*time.Millisecond {
		t.Errorf("want success after the delay, got %v after %v", err, time.Since(began))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := put(ctx, c, "c/y"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("want the deadline to pass, got %v", err)
	}
}

func TestFaultStalls(t *testing.T) {
	t.Parallel()
	s, addr := start(t, firestore.Options{Heartbeat: 5 * time.Millisecond})
	c := raw(t, addr)
	beats := listenRaw(t, c, "c")
	<-beats
	remove := s.Faults().Add(firestore.Fault{Method: "Listen", Collection: "c", Stall: true})
	for quiet := false; !quiet; { // what was sent before may still arrive
		select {
		case _, ok := <-beats:
			if !ok {
				t.Fatal("want the stream to stay open")
			}
		case <-time.After(100 * time.Millisecond):
			quiet = true
		}
	}
	remove()
	if _, ok := <-beats; !ok {
		t.Fatal("want the stream to go on")
	}
}

// listenRaw opens a Listen stream on a collection. Its channel gets a value for each
// snapshot and is closed when the stream ends.
func listenRaw(t *testing.T, c pb.FirestoreClient, collection string) <-chan *pb.TargetChange {
	t.Helper()
	stream, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&pb.ListenRequest{Database: testDatabase, TargetChange: &pb.ListenRequest_AddTarget{AddTarget: &pb.Target{
		TargetId: 2,
		TargetType: &pb.Target_Query{Query: &pb.Target_QueryTarget{
			Parent: testDatabase + "/documents",
			QueryType: &pb.Target_QueryTarget_StructuredQuery{StructuredQuery: &pb.StructuredQuery{
				From: []*pb.StructuredQuery_CollectionSelector{{CollectionId: collection}},
			}},
		}},
	}}}); err != nil {
		t.Fatal(err)
	}
	out := make(chan *pb.TargetChange)
	ctx := t.Context()
	go func() {
		defer close(out)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			if tc := r.GetTargetChange(); tc.GetReadTime() != nil && len(tc.GetTargetIds()) == 0 {
				select {
				case out <- tc:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

func TestDropStreams(t *testing.T) {
	for _, how := range []struct {
		name string
		drop firestore.Drop
	}{
		{"with a code", firestore.Drop{Collection: "c", Code: codes.Unavailable}},
		{"without an error", firestore.Drop{Collection: "c"}},
		{"hard", firestore.Drop{Collection: "c", Hard: true}},
	} {
		t.Run(how.name, func(t *testing.T) {
			s, addr := start(t, firestore.Options{Heartbeat: 5 * time.Millisecond})
			hit, spared := listenRaw(t, raw(t, addr), "c"), listenRaw(t, raw(t, addr), "other")
			<-hit
			<-spared
			if n := s.Faults().DropStreams(how.drop); n != 1 {
				t.Errorf("want one stream to be dropped, got %d", n)
			}
			for range hit { // until it ends
			}
			if _, ok := <-spared; !ok {
				t.Error("want the other stream to go on")
			}
		})
	}
}

// TestListenerResumes cuts a real client's stream; it finds its way back.
func TestListenerResumes(t *testing.T) {
	t.Parallel()
	s, addr := start(t, firestore.Options{})
	c := dial(t, addr)
	coll := c.Collection("c")
	for _, id := range []string{"a", "b", "d"} {
		if _, err := coll.Doc(id).Set(t.Context(), map[string]any{"id": id}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	it := coll.OrderBy("id", gcp.Asc).Limit(3).Snapshots(ctx)
	if _, err := it.Next(); err != nil {
		t.Fatal(err)
	}
	s.ResetBilling()
	if n := s.Faults().DropStreams(firestore.Drop{Hard: true}); n != 1 {
		t.Fatalf("want one stream to be dropped, got %d", n)
	}
	for s.Faults().DropStreams(firestore.Drop{Hard: true}) > 0 { // on its way out it might read, too
		runtime.Gosched()
	}
	b := batch(c).Delete(coll.Doc("a")).Set(coll.Doc("c"), map[string]any{"id": "c"}).Set(coll.Doc("e"), map[string]any{"id": "e"})
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	snap, err := it.Next()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ch := range snap.Changes {
		got = append(got, ch.Doc.Ref.ID)
	}
	if strings.Join(got, " ") != "a c" {
		t.Errorf("want a removed and c added, got %v", got)
	}
	if reads := s.Billing().Reads; reads != 1 {
		t.Errorf("want the token to save all reads but one, got %d", reads)
	}
}

func TestAdminHandler(t *testing.T) {
	s, addr := start(t, firestore.Options{})
	admin := httptest.NewServer(s.AdminHandler())
	defer admin.Close()
	defer admin.Client().CloseIdleConnections()
	call := func(method, path, body string, want int) (out map[string]any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, admin.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := admin.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != want {
			t.Fatalf("%s %s: want %d, got %d", method, path, want, resp.StatusCode)
		}
		_ = json.NewDecoder(resp.Body).Decode(&out)
		return out
	}
	c := raw(t, addr)
	id := call("POST", "/faults", `{"method":"Commit","code":"UNAVAILABLE","delay":"1ms","times":2}`, 201)["id"]
	if id != 1.0 {
		t.Errorf("want the rule's ID, got %v", id)
	}
	if err := put(t.Context(), c, "c/x"); status.Code(err) != codes.Unavailable {
		t.Errorf("want Unavailable, got %v", err)
	}
	if st := s.Faults().List(); len(st) != 1 || st[0].Hit != 1 {
		t.Errorf("want one rule with one hit, got %+v", st)
	}
	call("GET", "/faults", "", 200)
	call("DELETE", "/faults/1", "", 204)
	call("DELETE", "/faults/1", "", 404)
	call("POST", "/faults", `{"code":"NOT_A_CODE"}`, 400)
	call("POST", "/faults", `{"unknown":1}`, 400)
	call("POST", "/faults", `{"code":"INTERNAL"}`, 201)
	call("DELETE", "/faults", "", 204)
	if err := put(t.Context(), c, "c/x"); err != nil {
		t.Error(err)
	}
	if n := call("POST", "/streams/drop", `{"hard":true}`, 200)["dropped"]; n != 0.0 {
		t.Errorf("want no stream to drop, got %v", n)
	}
	if got := call("GET", "/billing", "", 200); got["writes"] != 1.0 {
		t.Errorf("want one write, got %v", got)
	}
	call("POST", "/billing/reset", "", 204)
	if got := call("GET", "/billing", "", 200); got["writes"] != 0.0 {
		t.Errorf("want none after the reset, got %v", got)
	}
}
