package notifications

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay/workqueue"
)

// bothQueues are tests of the whole queue, on the embedded server and on Google's emulator.
var bothQueues = []struct {
	name string
	run  func(*testing.T, *fixture)
}{
	{"100 events at once of 5 condominiums, three instances", testHundredEvents},
	{"100 events at once, an instance that is killed among three", testHundredEventsAndAKill},
	{"a failing write of notifications", testFailingWrite},
	{"a write of notifications that fails once", testFailsOnce},
	{"an event that is wrong", testWrongEvent},
	{"an event of a dead worker", testDeadWorker},
	{"the figures of a tenant", testFigures},
}

func TestQueue(t *testing.T) {
	for _, tc := range bothQueues {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, setup(t, onEmbedded(t))) })
	}
}

func TestGoogleQueue(t *testing.T) {
	for _, tc := range bothQueues {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, setup(t, onGoogle(t))) })
	}
}

// serve runs an instance until the test's end, or until stop is called.
func (f *fixture) serve(db *firestore.Client, tune ...func(*workqueue.Config)) (stop func()) {
	f.t.Helper()
	cfg := f.newHandler(db, nil).Config()
	cfg.Tuning.Every = 200 * time.Millisecond
	for _, t := range tune {
		t(&cfg)
	}
	q, err := workqueue.New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := q.Run(ctx); err != nil {
			f.t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	f.t.Cleanup(stop)
	return stop
}

// await reads the event until it is as wanted. It does not listen: a listener of Google's
// emulator may miss a change, and nothing would show it the event again.
func (f *fixture) await(ref *firestore.DocumentRef, what string, ok func(fields map[string]any) bool) map[string]any {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 4*time.Minute)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	var fields map[string]any
	for {
		snap, err := ref.Get(ctx)
		if err == nil {
			fields = snap.Data()
		}
		if err == nil && ok(fields) {
			return fields
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			f.t.Fatalf("no %s: %v; the event is %v", what, err, fields)
		}
	}
}

func (f *fixture) awaitStatus(ref *firestore.DocumentRef, want string) map[string]any {
	f.t.Helper()
	return f.await(ref, want, func(fields map[string]any) bool { return fields["status"] == want })
}

// 100 events that come at once have each one delivery to each person, whatever instance has them.
func testHundredEvents(t *testing.T, f *fixture) {
	for range 3 {
		f.serve(f.client())
	}
	for _, event := range f.hundredEvents() {
		if event["attempts"] != int64(1) {
			t.Errorf("event had %v attempts", event["attempts"])
		}
	}
}

// What a killed instance had in hand is done by the others once its lease has run out.
func testHundredEventsAndAKill(t *testing.T, f *fixture) {
	thorough.EndToEnd(t)
	f.settings.Lock, f.settings.BaseRetry = 2*time.Second, 10*time.Millisecond
	f.settings.MaxRetries = 100
	killed := &calls{fail: 20, dead: true}
	f.serve(f.client(killed.options()...), func(c *workqueue.Config) {
		c.Tuning.StopBudget = time.Millisecond // nobody waits for one that is killed
	})
	for range 2 {
		f.serve(f.client())
	}
	f.hundredEvents()
	if killed.made.Load() < killed.fail {
		t.Log("the others were done before it was killed")
	}
}

// hundredEvents has the instances that run dispatch events, and returns those at their end.
func (f *fixture) hundredEvents() (events []map[string]any) {
	f.t.Helper()
	const tenants, each = 5, 20
	var of []Tenant
	for i := range tenants {
		of = append(of, f.tenant(fmt.Sprint(i), twoAdmins...))
	}
	refs := make([]*firestore.DocumentRef, tenants*each)
	atOnce(len(refs), func(i int) { refs[i] = f.event(of[i%tenants]) })
	for _, ref := range refs {
		f.awaitStatus(ref, StatusEmitted)
	}
	f.rangForBoth(refs)
	var ages []time.Duration
	for _, ref := range refs {
		events = append(events, f.fields(relative(ref)))
		ages = append(ages, f.toTheBell(ref))
	}
	f.t.Log(quantiles(ages))
	return events
}

// rangForBoth checks that each event is in the bells of both admins of its tenant, once, and
// in the tenant's figures.
func (f *fixture) rangForBoth(refs []*firestore.DocumentRef) {
	f.t.Helper()
	want := map[Tenant]map[string][]string{}
	for _, ref := range refs {
		tenant, err := tenantIn(relative(ref))
		if err != nil {
			f.t.Fatal(err)
		}
		if want[tenant] == nil {
			want[tenant] = map[string][]string{}
		}
		for _, user := range []string{"ana", "bo"} {
			want[tenant][user] = append(want[tenant][user], ref.ID)
		}
	}
	for tenant, bells := range want {
		for _, ids := range bells {
			slices.Sort(ids)
		}
		if diff := cmp.Diff(bells, f.bells(tenant)); diff != "" {
			f.t.Errorf("bells of %s (-want +got):\n%s", tenant, diff)
		}
		got, each := f.stats(tenant), int64(len(bells["ana"]))
		if diff := cmp.Diff(Stats{Begin: got.Begin, ProcessedEvents: each, NotificationsWritten: 2 * each}, got); diff != "" {
			f.t.Errorf("figures of %s (-want +got):\n%s", tenant, diff)
		}
	}
}

// toTheBell is how long an event took to ana's bell, by the server's clock.
func (f *fixture) toTheBell(ref *firestore.DocumentRef) time.Duration {
	f.t.Helper()
	tenant, err := tenantIn(relative(ref))
	if err != nil {
		f.t.Fatal(err)
	}
	event, bell := f.fields(relative(ref)), f.fields(tenant.Path()+"/users/ana/notifications/"+ref.ID)
	return bell["createdAt"].(time.Time).Sub(event["createdAt"].(time.Time))
}

func quantiles(ages []time.Duration) string {
	slices.Sort(ages)
	return fmt.Sprintf("to the bell: p50 %v, p99 %v", ages[len(ages)/2], ages[len(ages)*99/100])
}

// failing fails commits that write notifications.
type failing struct {
	left atomic.Int64 // so many fail
}

func (w *failing) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if c, ok := req.(*pb.CommitRequest); ok && slices.ContainsFunc(c.GetWrites(), func(w *pb.Write) bool {
			return strings.Contains(w.GetUpdate().GetName(), "/"+CollectionBells+"/")
		}) && w.left.Add(-1) >= 0 {
			return status.Error(codes.PermissionDenied, "no notification may be written")
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	})}
}

// hasten makes an event that waits due now.
func (f *fixture) hasten(ref *firestore.DocumentRef) {
	f.t.Helper()
	if _, err := ref.Update(f.t.Context(), []firestore.Update{{Path: "nextRetryAt", Value: time.Unix(1, 0)}}); err != nil {
		f.t.Fatal(err)
	}
}

func testFailingWrite(t *testing.T, f *fixture) {
	f.settings.MaxRetries, f.settings.BaseRetry, f.settings.MaxRetry = 3, time.Hour, 90*time.Minute
	tenant := f.tenant("a", twoAdmins...)
	w := &failing{}
	w.left.Store(1 << 40)
	f.serve(f.client(w.options()...))
	ref := f.event(tenant, with("dedupeKey", "key"), with("extra", "kept"))
	for attempt, wait := range []time.Duration{time.Hour, 90 * time.Minute} {
		got := f.await(ref, "retry", func(fields map[string]any) bool {
			return fields["status"] == StatusPending && fields["attempts"] == int64(attempt+1)
		})
		if got["lastErrorCode"] != "PERMISSION_DENIED" || got["lastError"] == nil || got["lockUntil"] != nil || got["extra"] != "kept" {
			t.Errorf("after attempt %d: %v", attempt+1, got)
		}
		snap, err := ref.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		due, _ := got["nextRetryAt"].(time.Time)
		if off := due.Sub(snap.UpdateTime.Add(wait)).Abs(); off > time.Minute {
			t.Errorf("after attempt %d it is due %v away from what the formula says", attempt+1, off)
		}
		f.hasten(ref)
	}
	got := f.awaitStatus(ref, StatusFailed)
	if got["attempts"] != int64(3) || got["lockUntil"] != nil || got["nextRetryAt"] != nil || got["lastErrorCode"] != "PERMISSION_DENIED" || got["processedAt"] == nil {
		t.Errorf("the event failed as %v", got)
	}
	letter := f.fields(tenant.Path() + "/notificationDeadLetters/" + ref.ID)
	snapshot, _ := letter["payloadSnapshot"].(map[string]any)
	if letter["createdAt"] == nil || snapshot["extra"] != "kept" || snapshot["title"] == nil || !strings.Contains(fmt.Sprint(letter["errorMessage"]), "no notification may be written") {
		t.Errorf("dead letter %v", letter)
	}
	if diff := cmp.Diff(map[string]any{"sourceEventId": ref.ID, "dedupeKey": "key", "errorCode": "PERMISSION_DENIED", "attempts": int64(3)},
		without(letter, "createdAt", "payloadSnapshot", "errorMessage")); diff != "" {
		t.Errorf("dead letter (-want +got):\n%s", diff)
	}
	stats := f.stats(tenant)
	if diff := cmp.Diff(Stats{Begin: stats.Begin, FailedEvents: 1}, stats); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if got := f.bells(tenant); len(got) != 0 {
		t.Errorf("bells %v", got)
	}
}

func testFailsOnce(t *testing.T, f *fixture) {
	f.settings.BaseRetry = 10 * time.Millisecond
	f.settings.BatchSize = 2
	admins := people(5)
	tenant := f.tenant("a", admins...)
	w := &failing{}
	w.left.Store(1)
	f.serve(f.client(w.options()...))
	ref := f.event(tenant)
	got := f.awaitStatus(ref, StatusEmitted)
	if got["attempts"] != int64(2) || got["lastError"] != nil || got["lastErrorCode"] != nil {
		t.Errorf("event %v", got)
	}
	if diff := cmp.Diff(everybody(admins, ref.ID), f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
}

// What no attempt makes better is failed at once, beside events that are right.
func testWrongEvent(t *testing.T, f *fixture) {
	tenant := f.tenant("a", twoAdmins...)
	f.serve(f.client())
	for _, change := range []func(map[string]any){
		with("clientId", "another"), with("condominiumId", "another"), with("createdBy", ""), with("channels", []any{"in_app", "email"}), audience("everybody"),
	} {
		ref := f.event(tenant, change)
		got := f.awaitStatus(ref, StatusFailed)
		if got["attempts"] != int64(1) || got["lastErrorCode"] != "INVALID_EVENT" || got["lockUntil"] != nil {
			t.Errorf("event %v", got)
		}
		letter := f.fields(tenant.Path() + "/notificationDeadLetters/" + ref.ID)
		if letter["sourceEventId"] != ref.ID || letter["errorCode"] != "INVALID_EVENT" || letter["attempts"] != int64(1) || letter["payloadSnapshot"] == nil {
			t.Errorf("dead letter %v", letter)
		}
	}
	elsewhere := f.db.Doc("other/place/notificationEvents/e")
	f.set(elsewhere, eventFields(tenant))
	f.awaitStatus(elsewhere, StatusFailed)
	if letter := f.fields("other/place/notificationDeadLetters/e"); letter["errorCode"] != "INVALID_EVENT" {
		t.Errorf("dead letter of an event in another place %v", letter)
	}
	ref := f.event(tenant)
	f.awaitStatus(ref, StatusEmitted)
	if diff := cmp.Diff(map[string][]string{"ana": {ref.ID}, "bo": {ref.ID}}, f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
	stats := f.stats(tenant)
	if diff := cmp.Diff(Stats{Begin: stats.Begin, ProcessedEvents: 1, NotificationsWritten: 2, FailedEvents: 5}, stats); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// An event whose worker died is found once its lease has run out, and one that waits once it is
// due, though neither changes.
func testDeadWorker(t *testing.T, f *fixture) {
	f.settings.MaxRetries = 2
	tenant := f.tenant("a", twoAdmins...)
	past := time.Now().Add(-48 * time.Hour)
	lease := func(attempts int) func(map[string]any) {
		return func(fields map[string]any) {
			fields["status"], fields["workerId"], fields["attempts"], fields["lockUntil"] = StatusProcessing, "gone", attempts, past
		}
	}
	stale := f.event(tenant, lease(1))
	last := f.event(tenant, lease(2))
	due := f.event(tenant, with("attempts", 1), with("nextRetryAt", past))
	later := f.event(tenant, with("attempts", 1), with("nextRetryAt", time.Now().Add(48*time.Hour)))
	f.serve(f.client())
	for _, ref := range []*firestore.DocumentRef{stale, due} {
		if got := f.awaitStatus(ref, StatusEmitted); got["attempts"] != int64(2) {
			t.Errorf("event %v", got)
		}
	}
	if got := f.awaitStatus(last, StatusFailed); got["lastErrorCode"] != workqueue.CodeAbandoned {
		t.Errorf("event whose last worker died: %v", got)
	}
	if letter := f.fields(tenant.Path() + "/notificationDeadLetters/" + last.ID); letter["errorCode"] != workqueue.CodeAbandoned {
		t.Errorf("dead letter %v", letter)
	}
	if got := f.fields(relative(later))["status"]; got != StatusPending {
		t.Errorf("an event that is not due is %v", got)
	}
}
