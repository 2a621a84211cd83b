package local

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func TestMain(m *testing.M) {
	// The client libraries' metrics start a worker for the life of the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func setup(t *testing.T, opts Options) *Cloud {
	t.Helper()
	c, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func dial(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // its client may have closed it
	return conn
}

// dialAuth returns the administrator of project p at addr.
func dialAuth(t *testing.T, addr string) *auth.Client {
	t.Helper()
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", addr)
	app, err := firebase.NewApp(t.Context(), &firebase.Config{ProjectID: "p"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := app.Auth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestStartServesAllParts(t *testing.T) {
	c := setup(t, Options{Project: "p", Topics: []string{"orders"}})

	docs, err := firestore.NewClient(t.Context(), "p", option.WithGRPCConn(dial(t, c.FirestoreAddr)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := docs.Doc("c/d").Set(t.Context(), map[string]any{"n": 1}); err != nil {
		t.Errorf("write to Firestore: %v", err)
	}
	topics, err := pubsub.NewClient(t.Context(), "p", option.WithGRPCConn(dial(t, c.PubSubAddr)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topics.TopicAdminClient.GetTopic(t.Context(), &pb.GetTopicRequest{Topic: "projects/p/topics/orders"}); err != nil {
		t.Errorf("get the topic: %v", err)
	}
	if _, err := dialAuth(t, c.AuthAddr).CreateUser(t.Context(), &auth.UserToCreate{}); err != nil {
		t.Errorf("create a user: %v", err)
	}
	want := []string{
		"FIRESTORE_EMULATOR_HOST=" + c.FirestoreAddr, "PUBSUB_EMULATOR_HOST=" + c.PubSubAddr,
		"FIREBASE_AUTH_EMULATOR_HOST=" + c.AuthAddr,
	}
	if diff := cmp.Diff(want, c.Env()); diff != "" {
		t.Errorf("Env (-want +got):\n%s", diff)
	}
}

func TestDataDirKeepsDocumentsAndAccounts(t *testing.T) {
	dir := t.TempDir()
	run := func(f func(context.Context, *firestore.Client, *auth.Client)) {
		c := setup(t, Options{DataDir: dir})
		docs, err := firestore.NewClient(t.Context(), "p", option.WithGRPCConn(dial(t, c.FirestoreAddr)))
		if err != nil {
			t.Fatal(err)
		}
		f(t.Context(), docs, dialAuth(t, c.AuthAddr))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	run(func(ctx context.Context, docs *firestore.Client, users *auth.Client) {
		if _, err := docs.Doc("c/d").Set(ctx, map[string]any{"n": 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := users.CreateUser(ctx, (&auth.UserToCreate{}).UID("alice")); err != nil {
			t.Fatal(err)
		}
	})
	run(func(ctx context.Context, docs *firestore.Client, users *auth.Client) {
		if _, err := docs.Doc("c/d").Get(ctx); err != nil {
			t.Errorf("document after a restart: %v", err)
		}
		if _, err := users.GetUser(ctx, "alice"); err != nil {
			t.Errorf("user after a restart: %v", err)
		}
	})
}

func TestStartTellsATakenPort(t *testing.T) {
	lis, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	for name, opts := range map[string]Options{
		"Firestore": {Firestore: lis.Addr().String()},
		"pub/sub":   {PubSub: lis.Addr().String()},
		"Auth":      {Auth: lis.Addr().String()},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Start(opts); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("Start = %v, want an error that names %s", err, name)
			}
		})
	}
}

func TestAdminHandler(t *testing.T) {
	c := setup(t, Options{})
	h := c.AdminHandler()
	for _, tc := range []struct {
		method, path, body, site string
		want                     int
	}{
		{"GET", "/billing", "", "", http.StatusOK},
		{"GET", "/firestore/billing", "", "", http.StatusOK},
		{"GET", "/firestore/faults", "", "", http.StatusOK},
		{"POST", "/pubsub/faults", `{"topic":"orders","code":"UNAVAILABLE"}`, "", http.StatusCreated},
		{"POST", "/pubsub/faults", `{"topic":"orders","code":"UNAVAILABLE"}`, "cross-site", http.StatusForbidden},
		{"DELETE", "/pubsub/faults", "", "", http.StatusNoContent},
		{"GET", "/pubsub/counts", "", "", http.StatusOK},
		{"POST", "/auth/faults", `{"method":"accounts:update","status":503}`, "", http.StatusCreated},
		{"POST", "/auth/faults", `{"method":"accounts:update","status":503}`, "cross-site", http.StatusForbidden},
		{"GET", "/auth/counts", "", "", http.StatusOK},
		{"GET", "/elsewhere", "", "", http.StatusNotFound},
	} {
		t.Run(tc.method+" "+tc.path+" "+tc.site, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			if tc.site != "" {
				r.Header.Set("Sec-Fetch-Site", tc.site)
			}
			h.ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Errorf("status %d, want %d: %s", w.Code, tc.want, w.Body)
			}
		})
	}
}
