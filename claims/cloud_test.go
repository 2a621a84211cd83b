package claims_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	sdk "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"github.com/google/uuid"

	"outboxrelay/claims"
	claimsfirebase "outboxrelay/claims/firebase"
	claimsfirestore "outboxrelay/claims/firestore"
	"outboxrelay/contracts"
	localauth "outboxrelay/deploy/local/auth"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	localpubsub "outboxrelay/deploy/local/pubsub"
	ierpubsub "outboxrelay/ier/pubsub"
)

// cloud is where the handlers of a test run: embedded, or Google's emulators.
type cloud struct {
	project                 string
	firestore, pubsub, auth string // HOST:PORT

	store    *localfirestore.Server // nil on Google's, as the next
	accounts *localauth.Server
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &cloud{project: "p-" + uuid.NewString()[:8]}
	c.store, c.firestore = firestoretest.Start(t, localfirestore.Options{})
	broker, err := localpubsub.Open(localpubsub.Options{})
	must(err)
	t.Cleanup(func() { broker.Close() })
	c.pubsub, err = broker.Start("127.0.0.1:0")
	must(err)
	c.accounts, err = localauth.Open(localauth.Options{})
	must(err)
	t.Cleanup(func() { c.accounts.Close() })
	c.auth, err = c.accounts.Start("127.0.0.1:0")
	must(err)
	return c
}

// onGoogle returns Google's emulators, or skips the test where none run.
func onGoogle(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{
		project:   "p-" + uuid.NewString()[:8],
		firestore: os.Getenv("OUTBOX_RELAY_GOOGLE_FIRESTORE"), pubsub: os.Getenv("OUTBOX_RELAY_GOOGLE_PUBSUB"), auth: os.Getenv("OUTBOX_RELAY_GOOGLE_AUTH"),
	}
	if c.firestore == "" || c.pubsub == "" || c.auth == "" {
		t.Skip("Google's emulators are not running: see make test-emulators")
	}
	return c
}

// fixture is a cloud with what handlers need, and with the users' side.
type fixture struct {
	*testing.T
	cloud   *cloud
	db      *firestore.Client
	topics  *ierpubsub.Clients
	users   *auth.Client
	handler *claims.Handler
}

func setup(t *testing.T, c *cloud) *fixture {
	t.Helper()
	t.Setenv("FIRESTORE_EMULATOR_HOST", c.firestore)
	t.Setenv("PUBSUB_EMULATOR_HOST", c.pubsub)
	f := &fixture{T: t, cloud: c}
	var err error
	f.db, err = firestore.NewClient(context.Background(), c.project)
	f.must(err)
	t.Cleanup(func() { f.db.Close() })
	f.topics, err = ierpubsub.NewClients(context.Background(), c.project)
	f.must(err)
	t.Cleanup(func() { f.topics.Close() })
	f.must(ierpubsub.EnsureTopics(t.Context(), f.topics.Background(), []string{contracts.TopicRefreshSignal}))
	f.handler = f.newHandler()
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", c.auth)
	app, err := sdk.NewApp(t.Context(), &sdk.Config{ProjectID: c.project})
	f.must(err)
	f.users, err = app.Auth(t.Context())
	f.must(err)
	f.must(os.Unsetenv("FIREBASE_AUTH_EMULATOR_HOST")) // the handlers' connections are their own; Setenv restores it
	f.subscribe()
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// unhurried is what a record and a signal may take here: emulators stand still
// for seconds at times, and an outage of theirs is none that a test is about.
const unhurried = time.Minute

// newHandler makes a handler as another instance of the relay has it.
func (f *fixture) newHandler() *claims.Handler {
	f.Helper()
	catalog, err := contracts.DefaultCatalog()
	f.must(err)
	spec := catalog.Targets[claims.DefaultTarget]
	spec.RatePerSecond = 10_000
	catalog.Targets[claims.DefaultTarget] = spec
	catalog.Outbox("accOutbox").Route("RoleChanged").RevokeTokens = true
	accounts, err := claimsfirebase.Open(f.Context(), f.cloud.project, claimsfirebase.WithEmulator(f.cloud.auth))
	f.must(err)
	f.Cleanup(accounts.Close)
	signals, err := ierpubsub.NewOrderedPublisher(f.topics.Lane(contracts.CriticalLane), contracts.TopicRefreshSignal, ierpubsub.Settings{Timeout: unhurried})
	f.must(err)
	f.Cleanup(func() { f.must(signals.Close(context.Background())) })
	h, err := claims.New(claims.Config{Catalog: catalog, Store: claimsfirestore.New(f.db), Accounts: accounts, Signals: signals, Timeout: unhurried})
	f.must(err)
	return h
}

// subscribe makes the subscription that signals pulls from.
func (f *fixture) subscribe() {
	f.Helper()
	_, err := f.topics.Background().SubscriptionAdminClient.CreateSubscription(f.Context(), &pubsubpb.Subscription{
		Name: f.subscription(), Topic: fmt.Sprintf("projects/%s/topics/%s", f.cloud.project, contracts.TopicRefreshSignal),
		AckDeadlineSeconds: 60, EnableMessageOrdering: true,
	})
	f.must(err)
}

func (f *fixture) subscription() string {
	return fmt.Sprintf("projects/%s/subscriptions/clients", f.cloud.project)
}

// signals pulls n signals.
func (f *fixture) signals(n int) []*pubsubpb.PubsubMessage {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 90*time.Second)
	defer cancel()
	client := f.topics.Background().SubscriptionAdminClient
	var got []*pubsubpb.PubsubMessage
	for len(got) < n {
		page, err := client.Pull(ctx, &pubsubpb.PullRequest{Subscription: f.subscription(), MaxMessages: int32(n - len(got))})
		if err != nil {
			f.Fatalf("%d signals came, want %d: %v", len(got), n, err)
		}
		for _, m := range page.ReceivedMessages {
			got = append(got, m.Message)
			f.must(client.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{Subscription: f.subscription(), AckIds: []string{m.AckId}}))
		}
	}
	return got
}

func (f *fixture) createUser(uid string, held map[string]any) {
	f.Helper()
	_, err := f.users.CreateUser(f.Context(), (&auth.UserToCreate{}).UID(uid))
	f.must(err)
	f.must(f.users.SetCustomUserClaims(f.Context(), uid, held))
}

func (f *fixture) user(uid string) *auth.UserRecord {
	f.Helper()
	u, err := f.users.GetUser(f.Context(), uid)
	f.must(err)
	return u
}

// fields reads a document without what the server dates; nil when there is none.
func (f *fixture) fields(collection, id string) map[string]any {
	f.Helper()
	snap, err := f.db.Collection(collection).Doc(id).Get(f.Context())
	if err != nil {
		return nil
	}
	return snap.Data()
}

// record is a RoleChanged of uid.
func (f *fixture) record(uid string, version int64, payload map[string]any) (*contracts.Record, []byte) {
	f.Helper()
	rec := &contracts.Record{
		Outbox: "accOutbox", EventID: uuid.NewString(), EventType: "RoleChanged", EventVersion: 1, AggregateID: uid, AggregateVersion: version,
		TraceID: "trace-" + uuid.NewString(), OccurredAt: time.Now().UTC(), Payload: payload,
	}
	rec.IdempotencyKey = contracts.IdempotencyKey(rec.EventID, uid, version)
	envelope, err := contracts.MarshalEnvelope(rec)
	f.must(err)
	return rec, envelope
}

func (f *fixture) handle(uid string, version int64, payload map[string]any) *contracts.Record {
	f.Helper()
	rec, envelope := f.record(uid, version, payload)
	f.must(f.handler.Handle(f.Context(), rec, envelope))
	return rec
}
