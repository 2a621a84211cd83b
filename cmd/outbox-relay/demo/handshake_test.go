package demo

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/ier"
)

// town is a cloud with a user and the user's app.
type town struct {
	docs   *firestore.Client
	auth   *Auth
	ledger *Ledger
	apps   *Clients
}

const sampleProject = "town"

func setup(t *testing.T, accounts ...string) *town {
	t.Helper()
	cloud, err := local.Start(local.Options{Project: sampleProject})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	docs, err := firestore.NewClient(t.Context(), sampleProject, local.FirestoreOptions(cloud.FirestoreAddr)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docs.Close() })
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	w := &town{docs: docs, auth: &Auth{Addr: cloud.AuthAddr, Project: sampleProject, HTTP: &http.Client{Transport: transport}}, ledger: NewLedger()}
	w.ledger.WatchClaims()
	w.apps = &Clients{Docs: docs, Auth: w.auth, Ledger: w.ledger, Accounts: accounts}
	return w
}

// user makes a user with claims of a version; 0: without.
func (w *town) user(t *testing.T, account string, version int64) {
	t.Helper()
	if err := w.auth.CreateUser(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if version == 0 {
		return
	}
	body := map[string]any{"localId": account, "customAttributes": fmt.Sprintf(`{"claimsVersion":%d}`, version)}
	if err := w.auth.postJSON(t.Context(), "/identitytoolkit.googleapis.com/v1/projects/"+sampleProject+"/accounts:update", body, true, &struct{}{}); err != nil {
		t.Fatal(err)
	}
}

// signal writes an account's signal document.
func (w *town) signal(t *testing.T, account, eventID string, version int64) {
	t.Helper()
	_, err := w.docs.Collection(contracts.CollectionRefreshSignals).Doc(account).Set(t.Context(), map[string]any{"eventId": eventID, "claimsVersion": version})
	if err != nil {
		t.Fatal(err)
	}
}

// eventually polls until ok, for what comes over a socket.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !poll.True(2*time.Minute, 5*time.Millisecond, ok) {
		t.Fatalf("gave up waiting until %s", what)
	}
}

// An app fetches a new token for each signal that is news, and sees whether it
// carries what it was told of.
func TestAppsFetchATokenForEachSignal(t *testing.T) {
	w := setup(t, "fresh", "stale", "nobody")
	w.user(t, "fresh", 2)
	w.user(t, "stale", 1)
	w.ledger.Expect("event-1:fresh:2", contracts.CriticalLane, nil)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.apps.Run(ctx) }()
	w.signal(t, "fresh", "event-1", 2)
	w.signal(t, "stale", "event-2", 2)
	w.signal(t, "nobody", "event-3", 1)
	eventually(t, "both have a token", func() bool { return w.ledger.Totals().Handshakes.Refreshed == 2 })
	w.signal(t, "fresh", "event-1", 2) // a repeat
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// What comes while nobody listens is followed afterwards, once.
	w.user(t, "nobody", 1)
	for range 2 {
		if err := w.apps.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := w.ledger.Totals().Handshakes
	if diff := cmp.Diff(&Handshakes{Refreshed: 3, Stale: 1}, got, cmpopts.IgnoreFields(Handshakes{}, "P50", "Reads")); diff != "" {
		t.Errorf("handshakes (-want +got):\n%s", diff)
	}
	if got.P50 == 0 {
		t.Error("the time from the append is not known")
	}
}

// A witness books what the handler of claims takes and refuses, and nothing of
// what was not attempted.
func TestWitnessBooksTheHandler(t *testing.T) {
	l := NewLedger()
	l.WatchClaims()
	l.Expect("event-1:acc-1:1", contracts.CriticalLane, []string{"CLAIMS_HANDLER"})
	l.Appended("event-1:acc-1:1")
	parcel := func(key string) ier.Parcel {
		return ier.Parcel{Message: &contracts.Message{Attributes: map[string]string{
			contracts.AttrTarget: "CLAIMS_HANDLER", contracts.AttrIdempotencyKey: key, contracts.AttrLane: string(contracts.CriticalLane),
		}}}
	}
	for _, errs := range [][]error{
		{nil, &contracts.Failure{Kind: contracts.Attributable, Code: "UserNotFound"}, ier.ErrBehind},
		{&contracts.Failure{Kind: contracts.Outage, Code: "Unavailable"}},
	} {
		w := &Witness{Target: answers(errs), Ledger: l}
		w.Deliver(t.Context(), []ier.Parcel{parcel("event-1:acc-1:1"), parcel("event-2:acc-1:2"), parcel("event-3:acc-1:3")}[:len(errs)])
	}
	totals := l.Totals()
	if diff := cmp.Diff(&Handshakes{Set: 1, Refused: 1}, totals.Handshakes); diff != "" {
		t.Errorf("handshakes (-want +got):\n%s", diff)
	}
	if in, delivered := totals.Sum(); in != 1 || delivered != 1 || totals.Messages != 1 {
		t.Errorf("%d appended, %d delivered, %d messages, want one of each", in, delivered, totals.Messages)
	}
}

// answers is a target that says these.
type answers []error

func (a answers) Deliver(context.Context, []ier.Parcel) []error { return a }

func TestHandshakesTellOfTokensWithoutTheirClaims(t *testing.T) {
	h := &Handshakes{Set: 42, Refreshed: 42, P50: 60 * time.Millisecond}
	if got, want := h.String(), "set 42, tokens refreshed 42 (p50 60 ms from append), refused 0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if s := (Summary{Totals: Totals{Handshakes: h}}); !s.Kept() {
		t.Error("the promise is kept, and the summary says that it is broken")
	}
	h.Stale = 1
	if s := (Summary{Totals: Totals{Handshakes: h}}); s.Kept() {
		t.Error("a token without its claims breaks the promise, and the summary says that it is kept")
	}
}
