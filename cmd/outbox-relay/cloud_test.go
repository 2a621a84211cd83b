package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/uuid"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/requirements"
	dlqfirestore "outboxrelay/dlq/firestore"
)

const testProject = "test-project"

const (
	envLeaseTerm = "LEASE_TERM"
	// killTerm is the term of the leases where a service is killed: what it leaves
	// behind is the next one's soon.
	killTerm = "1s"
	// standTerm is that where none may run out, on a machine that stalls for
	// seconds. Nobody waits for it: who leaves gives back what it has.
	standTerm = 30 * time.Second
)

// embedded is a cloud within the test, and the environment that leads to it.
type embedded struct {
	*local.Cloud
	env map[string]string
	at  gcp.Place
}

// startCloud starts one for a test, which from here on runs beside others: all that
// it uses is its own.
func startCloud(t *testing.T) *embedded {
	t.Helper()
	t.Parallel()
	catalog := testCatalog(t)
	declared := requirements.IndexesOf(catalog)
	cloud, err := local.Start(local.Options{Project: testProject, Topics: catalog.Topics(), Indexes: &declared})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return &embedded{
		Cloud: cloud,
		env: map[string]string{
			"GOOGLE_CLOUD_PROJECT": testProject, gcp.EnvFirestore: cloud.FirestoreAddr, gcp.EnvPubSub: cloud.PubSubAddr, envLeaseTerm: standTerm.String(),
		},
		at: gcp.Place{Project: testProject, Database: firestore.DefaultDatabaseID, Firestore: cloud.FirestoreAddr, PubSub: cloud.PubSubAddr},
	}
}

// Addresses of Google's emulators, which the end-to-end tests run on if both
// are set.
const (
	googleFirestore = "OUTBOX_RELAY_GOOGLE_FIRESTORE"
	googlePubSub    = "OUTBOX_RELAY_GOOGLE_PUBSUB"
)

// anyCloud is a place with nothing in it: a project of its own on Google's
// emulators where those are given, else an embedded cloud.
func anyCloud(t *testing.T) (gcp.Place, map[string]string) {
	t.Helper()
	at := gcp.Place{
		Project: "p-" + uuid.NewString()[:8], Database: firestore.DefaultDatabaseID,
		Firestore: os.Getenv(googleFirestore), PubSub: os.Getenv(googlePubSub),
	}
	if at.Firestore == "" || at.PubSub == "" {
		cloud := startCloud(t)
		return cloud.at, cloud.env
	}
	return at, map[string]string{"GOOGLE_CLOUD_PROJECT": at.Project, gcp.EnvFirestore: at.Firestore, gcp.EnvPubSub: at.PubSub, envLeaseTerm: standTerm.String()}
}

// besideOthers lets a test whose parts call anyCloud run beside others, unless they
// share Google's emulators.
func besideOthers(t *testing.T) {
	t.Helper()
	if os.Getenv(googleFirestore) == "" {
		t.Parallel()
	}
}

// testCatalog is the default catalog, with a topic for claims.
func testCatalog(t *testing.T) *contracts.Catalog {
	t.Helper()
	catalog, err := loadCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	catalog, err = standInFlags{StandIn: []string{"CLAIMS_HANDLER=ier-claims-handler"}}.apply(catalog)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

func mustDialFirestore(t *testing.T, p gcp.Place) *dlqfirestore.Client {
	t.Helper()
	client, err := p.DialFirestore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func TestCloudAsAProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{
		"cloud", "--firestore", "127.0.0.1:0", "--pubsub", "127.0.0.1:0", "--auth", "127.0.0.1:0", "--admin", "127.0.0.1:0",
		"--data-dir", dir, "--project", testProject, "--stand-in", "CLAIMS_HANDLER=ier-claims-handler",
	}
	var users string // HOST:PORT of Auth
	started := func() (*child, gcp.Place, string) {
		c := startChild(t, nil, args...)
		users = c.stdout.find(t, `(?m)^FIREBASE_AUTH_EMULATOR_HOST=(\S+)$`)
		return c, gcp.Place{
			Project: testProject, Database: firestore.DefaultDatabaseID,
			Firestore: c.stdout.find(t, `(?m)^FIRESTORE_EMULATOR_HOST=(\S+)$`),
			PubSub:    c.stdout.find(t, `(?m)^PUBSUB_EMULATOR_HOST=(\S+)$`),
		}, c.stdout.find(t, `(?m)^ADMIN=(\S+)$`)
	}

	c, at, admin := started()
	if _, err := mustDialFirestore(t, at).Doc("accOutbox/a").Set(t.Context(), map[string]any{"n": 1}); err != nil {
		t.Fatal(err)
	}
	if got := askAuth(t, users, "accounts", `{"localId":"alice"}`); !strings.Contains(got, "alice") {
		t.Errorf("create a user: %s", got)
	}
	topics, err := at.DialPubSub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer topics.Close()
	for _, topic := range testCatalog(t).Topics() {
		if _, err := topics.TopicAdminClient.GetTopic(t.Context(), &pb.GetTopicRequest{Topic: "projects/" + testProject + "/topics/" + topic}); err != nil {
			t.Errorf("topic %s: %v", topic, err)
		}
	}
	for _, path := range []string{"/billing", "/pubsub/counts", "/firestore/faults", "/auth/counts"} {
		resp, err := http.Get("http://" + admin + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("GET %s = %d", path, resp.StatusCode)
		}
	}
	c.signal(t, syscall.SIGTERM)
	if code := c.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d after SIGTERM, want 0; stderr: %s", code, c.stderr)
	}

	c, at, _ = started()
	if _, err := mustDialFirestore(t, at).Doc("accOutbox/a").Get(t.Context()); err != nil {
		t.Errorf("document after a restart: %v", err)
	}
	if got := askAuth(t, users, "accounts:lookup", `{"localId":["alice"]}`); !strings.Contains(got, "alice") {
		t.Errorf("user after a restart: %s", got)
	}
	c.signal(t, syscall.SIGINT)
	if code := c.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d after SIGINT, want 0; stderr: %s", code, c.stderr)
	}
}

// askAuth makes an administrator's call and returns its answer.
func askAuth(t *testing.T, addr, method, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+addr+"/identitytoolkit.googleapis.com/v1/projects/"+testProject+"/"+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer owner")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestCloudTellsATakenPort(t *testing.T) {
	cloud := startCloud(t)
	got := runProgram(t, nil, "", "cloud", "--firestore", cloud.FirestoreAddr, "--pubsub", "127.0.0.1:0", "--auth", "127.0.0.1:0")
	if got.code != shell.ExitFailed || !strings.Contains(got.stderr, cloud.FirestoreAddr) || !strings.Contains(got.stderr, "choose other ports with --firestore") {
		t.Errorf("%+v; want exit code %d and the address", got, shell.ExitFailed)
	}
}
