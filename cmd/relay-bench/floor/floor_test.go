package floor

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
)

const project = "floor-test"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The SDK's tracing starts one for good.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func setup(t *testing.T) (*local.Cloud, *contracts.Catalog, *firestore.Client) {
	t.Helper()
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	if catalog, err = catalog.WithTopics(map[string]string{"CLAIMS_HANDLER": "ier-claims-handler"}); err != nil {
		t.Fatal(err)
	}
	cloud, err := local.Start(local.Options{Project: project, Topics: catalog.Topics()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, pair := range cloud.Env() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	client, err := firestore.NewClient(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return cloud, catalog, client
}

// ways are a floor of each kind, with room for a part of what a test appends.
var ways = map[string]Config{"listening": {Window: 10}, "polling": {Page: 10}}

func TestFloorPublishesAndMarksEveryRecord(t *testing.T) {
	for name, cfg := range ways {
		t.Run(name, func(t *testing.T) { relaysAll(t, cfg) })
	}
}

func relaysAll(t *testing.T, cfg Config) {
	cloud, catalog, client := setup(t)
	const each = 30 // more than a window or a page holds
	r := rand.New(rand.NewPCG(1, 2))
	published := map[string]int64{}
	for _, outbox := range catalog.Outboxes {
		for i := range each {
			rec := catalog.Sample(r, outbox, outbox.Name+"-1", int64(i+1), time.Now())
			if _, err := client.Collection(outbox.Name).Doc(rec.ID).Create(t.Context(), rec.ProducerFields()); err != nil {
				t.Fatal(err)
			}
			for _, target := range outbox.Route(rec.EventType).Targets {
				published[catalog.Targets[target].Topic]++
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cfg.Project, cfg.Catalog = project, catalog
	go func() { ended <- Run(ctx, cfg) }()
	for _, outbox := range catalog.Outboxes {
		awaitDelivered(t, client, outbox.Name, each, ended)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(published, cloud.PubSub.Counts().Published); diff != "" {
		t.Errorf("messages by topic (-want +got):\n%s", diff)
	}
}

func awaitDelivered(t *testing.T, client *firestore.Client, outbox string, n int, ended <-chan error) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		docs, err := client.Collection(outbox).Where(contracts.FieldStatus, "==", string(contracts.Delivered)).Documents(t.Context()).GetAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(docs) == n {
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("floor ended: %v", err)
		case <-deadline:
			t.Fatalf("%d of %d records of %s are delivered", len(docs), n, outbox)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestPollingFloorRelaysWhatComesLater(t *testing.T) {
	_, catalog, client := setup(t)
	outbox := catalog.Outboxes[0]
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Config{Project: project, Catalog: catalog, Page: 10}) }()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3 {
		rec := catalog.Sample(r, outbox, outbox.Name+"-1", int64(i+1), time.Now())
		if _, err := client.Collection(outbox.Name).Doc(rec.ID).Create(t.Context(), rec.ProducerFields()); err != nil {
			t.Fatal(err)
		}
		awaitDelivered(t, client, outbox.Name, i+1, ended)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFloorThatRelaysOnceTakesNoMore(t *testing.T) {
	_, catalog, client := setup(t)
	outbox := catalog.Outboxes[0]
	lane := outbox.Lanes()[0]
	r := rand.New(rand.NewPCG(1, 2))
	for version := int64(1); version <= 2; {
		rec := catalog.Sample(r, outbox, outbox.Name+"-1", version, time.Now())
		if rec.Lane != lane {
			continue
		}
		version++
		if _, err := client.Collection(outbox.Name).Doc(rec.ID).Create(t.Context(), rec.ProducerFields()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Once(ctx, Config{Project: project, Catalog: catalog, Page: 1}, outbox.Name, lane) }()
	awaitDelivered(t, client, outbox.Name, 1, ended)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	awaitDelivered(t, client, outbox.Name, 1, nil)
}

func TestFloorEndsWithItsFirstFailure(t *testing.T) {
	for name, cfg := range ways {
		t.Run(name, func(t *testing.T) { endsWithFailure(t, cfg) })
	}
}

func endsWithFailure(t *testing.T, cfg Config) {
	_, catalog, client := setup(t)
	stray := map[string]any{
		contracts.FieldStatus: string(contracts.Pending), contracts.FieldLane: string(contracts.BackgroundLane),
		contracts.FieldCreatedAt: time.Now(), contracts.FieldEventType: "NobodyKnows",
	}
	if _, err := client.Collection("tagOutbox").Doc("stray").Create(t.Context(), stray); err != nil {
		t.Fatal(err)
	}
	cfg.Project, cfg.Catalog = project, catalog
	err := Run(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), `declares no "NobodyKnows"`) {
		t.Errorf("error = %v, want one that names the event type", err)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	err = Config{Catalog: catalog}.Validate()
	for _, fault := range []string{"project is missing", "window is 0 and page is 0, want one of them", "target CLAIMS_HANDLER has no topic"} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("error = %v, want one with %q", err, fault)
		}
	}
}
