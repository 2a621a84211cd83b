package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/deploy/local/thorough"
	ierpubsub "outboxrelay/ier/pubsub"
	"outboxrelay/relay"
)

// serveArgs run the service on a free port, with a topic in place of the handler
// of claims; its address is in its log.
var serveArgs = []string{
	"serve", "--host", "127.0.0.1", "--port", "0", "--ensure-topics", "--stand-in", "CLAIMS_HANDLER=ier-claims-handler",
	"--stop-budget", "1m", // more than a machine stands still
}

const servingAddr = `"message":"serving","addr":"([^"]+)"`

// fetch returns a page of a running service; status 0 where it does not answer,
// or ends before it has.
func fetch(t *testing.T, addr, path string) (status int, body string) {
	t.Helper()
	resp, err := http.Get("http://" + addr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

// audience is a ledger with the demo's consumers and producers around a cloud.
type audience struct {
	ledger    *demo.Ledger
	producers *demo.Producers
}

// watchCloud subscribes to everything that the relay publishes at a place.
func watchCloud(t *testing.T, at gcp.Place) *audience {
	t.Helper()
	client, err := at.DialPubSub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := ierpubsub.EnsureTopics(t.Context(), client, testCatalog(t).Topics()); err != nil {
		t.Fatal(err)
	}
	a := &audience{ledger: demo.NewLedger()}
	a.producers = &demo.Producers{Client: mustDialFirestore(t, at).Client, Catalog: testCatalog(t), Ledger: a.ledger, Seed: uint64(time.Now().UnixNano())}
	consumers := &demo.Consumers{Client: client, Catalog: testCatalog(t), Ledger: a.ledger}
	if err := consumers.Subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	consuming := beside(t, consumers.Run)
	t.Cleanup(func() {
		consuming()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// append adds n records to all outboxes together, as fast as it goes.
func (a *audience) append(t *testing.T, n int64) {
	t.Helper()
	a.producers.Records = n
	if err := a.producers.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// age waits, on Google's emulators, until pages alone bring all that was
// appended: that Firestore's listeners may begin with a part of what they should
// show, and tell the rest, which is older, with their second snapshot. Of a
// window of 44 records the first one had the latest 16.
func (a *audience) age(t *testing.T) {
	t.Helper()
	if os.Getenv(googleFirestore) == "" {
		return
	}
	var appended time.Time // not before the last append
	eventually(t, "the last append is old", func() bool {
		snap, err := a.producers.Client.Doc("nothing/nothing").Get(t.Context())
		if status.Code(err) != codes.NotFound {
			t.Fatal(err)
		}
		if appended.IsZero() {
			appended = snap.ReadTime
		}
		return snap.ReadTime.Sub(appended) > time.Second
	})
}

// expectAll waits until all records have arrived, and then judges their order.
func (a *audience) expectAll(t *testing.T) {
	t.Helper()
	eventually(t, "all records have arrived", func() bool {
		in, delivered := a.ledger.Totals().Sum()
		return in == delivered
	})
	if totals := a.ledger.Totals(); totals.OutOfOrder > 0 {
		t.Errorf("%d of %d messages came out of order, the first at %s", totals.OutOfOrder, totals.Messages, totals.FirstOutOfOrder)
	}
}

func TestE2EServeDeliversAndStops(t *testing.T) {
	at, env := anyCloud(t)
	audience := watchCloud(t, at)
	service := startProgram(t, env, serveArgs...)
	addr := service.stderr.find(t, servingAddr)
	eventually(t, "the service is ready", func() bool { status, _ := fetch(t, addr, "/readyz"); return status == http.StatusOK })

	audience.append(t, 200)
	audience.expectAll(t)

	code, body := fetch(t, addr, "/readyz")
	var health relay.Health
	if err := json.Unmarshal([]byte(body), &health); err != nil || code != http.StatusOK || len(health.Outboxes) != 6 {
		t.Errorf("/readyz = %d, %v, %d outboxes", code, err, len(health.Outboxes))
	}
	if _, body := fetch(t, addr, "/metrics"); !strings.Contains(body, "relay_lag_seconds") || !strings.Contains(body, "go_goroutines") {
		t.Error("/metrics lacks the relay's or the process's")
	}
	if code := service.stop(t); code != shell.ExitOK {
		t.Errorf("exit code %d, stderr:\n%s", code, service.stderr)
	}
	if status, _ := fetch(t, addr, "/healthz"); status != 0 {
		t.Errorf("/healthz = %d after the end", status)
	}
}

func TestServeCreatesTopics(t *testing.T) {
	cloud := startCloud(t)
	cloud.env["GOOGLE_CLOUD_PROJECT"] = "another-project"
	service := startProgram(t, cloud.env, serveArgs...)
	service.stderr.find(t, servingAddr)
	service.stop(t)
	client, err := gcp.Place{Project: "another-project", PubSub: cloud.PubSubAddr}.DialPubSub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if missing, err := ierpubsub.MissingTopics(t.Context(), client, testCatalog(t).Topics()); err != nil || len(missing) > 0 {
		t.Errorf("--ensure-topics left out %v, %v", missing, err)
	}
}

func TestServeTellsMissingTopics(t *testing.T) {
	cloud := startCloud(t)
	cloud.env["GOOGLE_CLOUD_PROJECT"] = "another-project"
	service := startProgram(t, cloud.env, "serve", "--host", "127.0.0.1", "--port", "0")
	service.stderr.find(t, "(topics are missing).*ier-funnel-standard")
}

func TestServeTellsATakenPort(t *testing.T) {
	cloud := startCloud(t)
	_, port, _ := strings.Cut(cloud.PubSubAddr, ":")
	got := runProgram(t, cloud.env, "", "serve", "--host", "127.0.0.1", "--port", port)
	if got.code != shell.ExitFailed || !strings.Contains(got.stderr, "the port is taken; choose another with --port or PORT") {
		t.Errorf("serve: %+v", got)
	}
}

// What a killed relay had in hand is delivered by the next one: nothing is
// lost, and the order holds.
func TestE2EServeKilled(t *testing.T) {
	thorough.EndToEnd(t)
	at, env := anyCloud(t)
	env[envLeaseTerm] = killTerm
	audience := watchCloud(t, at)
	first := startChild(t, env, serveArgs...)
	first.stderr.find(t, servingAddr)
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		audience.append(t, 600)
	}()
	eventually(t, "some records have arrived", func() bool { return audience.ledger.Totals().Messages > 100 })
	first.signal(t, syscall.SIGKILL)
	first.wait(t)
	<-appended
	audience.age(t)

	second := startChild(t, env, serveArgs...)
	second.stderr.find(t, servingAddr)
	audience.expectAll(t)
	second.signal(t, syscall.SIGTERM)
	if code := second.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d after SIGTERM, stderr:\n%s", code, second.stderr)
	}
}

// A SIGTERM with deliveries under way ends the service within its budget, and
// what was not delivered is there for the next one.
func TestServeDrainsWithinItsBudget(t *testing.T) {
	thorough.EndToEnd(t)
	cloud := startCloud(t)
	audience := watchCloud(t, cloud.at)
	hang(t, cloud)
	cloud.env[envLeaseTerm] = killTerm // what does not end in time may leave a lease
	service := startChild(t, cloud.env, append(serveArgs, "--stop-budget", "2s")...)
	addr := service.stderr.find(t, servingAddr)
	audience.append(t, 20)
	eventually(t, "deliveries are under way", func() bool { return cloud.PubSub.Faults().List()[0].Hit > 0 })

	service.signal(t, syscall.SIGTERM)
	eventually(t, "/readyz says that it is stopping", func() bool {
		code, body := fetch(t, addr, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, `"stopping": true`)
	})
	if code := service.wait(t); code == -1 {
		t.Errorf("it was killed")
	}
	cloud.PubSub.Faults().Clear()
	startChild(t, cloud.env, serveArgs...)
	audience.expectAll(t)
}

func TestSecondSignalExitsAtOnce(t *testing.T) {
	cloud := startCloud(t)
	audience := watchCloud(t, cloud.at)
	hang(t, cloud)
	// With this budget only the second signal can end it within the test.
	service := startChild(t, cloud.env, append(serveArgs, "--stop-budget", "1h")...)
	service.stderr.find(t, servingAddr)
	audience.append(t, 20)
	eventually(t, "deliveries are under way", func() bool { return cloud.PubSub.Faults().List()[0].Hit > 0 })

	service.signal(t, syscall.SIGTERM)
	service.stderr.find(t, "(stopping: finishing what is in delivery)")
	service.signal(t, syscall.SIGTERM)
	if code, want := service.wait(t), 128+int(syscall.SIGTERM); code != want {
		t.Errorf("exit code %d, want %d", code, want)
	}
}

// hang lets every publish hang until its client gives up.
func hang(t *testing.T, cloud *embedded) {
	t.Helper()
	if _, err := cloud.PubSub.Faults().Add(pubsub.Fault{Delay: time.Hour, Code: codes.Unavailable}); err != nil {
		t.Fatal(err)
	}
}
