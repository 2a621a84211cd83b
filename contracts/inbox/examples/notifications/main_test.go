package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// TestConsumersPage holds the first page of docs/CONSUMERS.md to this program.
func TestConsumersPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/CONSUMERS.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, found := strings.Cut(code, "```\n")
	if diff := cmp.Diff(string(program), code); !found || diff != "" {
		t.Error("the program of docs/CONSUMERS.md is not contracts/inbox/examples/notifications/main.go:", diff)
	}
}

// What the page appends breaks no contract, and goes to the topic that the program consumes.
func TestConsumersPageAppends(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/CONSUMERS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(page), "```sh\n")
	lines, relay, found := strings.Cut(command, " | go run ./cmd/outbox-relay append --outbox ")
	if !found {
		t.Fatalf("the page appends nothing: %s", command)
	}
	name, _, _ := strings.Cut(relay, " -\n")
	out, err := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", lines).Output()
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		fields["createdAt"], fields["status"] = fields["occurredAt"], "pending" // which append sets
		record, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		rec, faults, err := contracts.DecodeJSON(name, "doc", record)
		if err != nil {
			t.Fatal(err)
		}
		checked := catalog.Check(rec, faults)
		if checked.Faults.Err() != nil || !slices.Contains(checked.Route.Targets, "NOTIF_ROUTER") {
			t.Errorf("%v, to %v: %s", checked.Faults, checked.Route.Targets, line)
		}
		keys[rec.IdempotencyKey] = true
	}
	if len(keys) != 3 {
		t.Errorf("%d events, want 3", len(keys))
	}
}

func TestNotifications(t *testing.T) {
	const project = "example"
	cloud, err := local.Start(local.Options{Project: project, Topics: []string{"ier-notif-router"}})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	t.Setenv("FIRESTORE_EMULATOR_HOST", cloud.FirestoreAddr)
	t.Setenv("PUBSUB_EMULATOR_HOST", cloud.PubSubAddr)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, project) }()

	client, err := pubsub.NewClient(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	db, err := dlqfirestore.Connect(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	deadline := time.Now().Add(time.Minute)
	until := func(what string, cond func() bool) {
		t.Helper()
		for !cond() {
			select {
			case err := <-done:
				t.Fatalf("it ended: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
			if time.Now().After(deadline) {
				t.Fatal("waited a minute until ", what)
			}
		}
	}
	until("it is subscribed", func() bool {
		_, err := client.SubscriptionAdminClient.GetSubscription(t.Context(), &pubsubpb.GetSubscriptionRequest{Subscription: "projects/" + project + "/subscriptions/notifications"})
		return err == nil
	})
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	publisher := client.Publisher("ier-notif-router")
	publisher.EnableMessageOrdering = true
	defer publisher.Stop()
	random := rand.New(rand.NewPCG(1, 1))
	for version := range 3 {
		rec := catalog.Sample(random, catalog.Outbox("schedOutbox"), "schedule-1", int64(version+1), time.Now())
		data, err := contracts.MarshalEnvelope(rec)
		if err != nil || !json.Valid(data) {
			t.Fatal(err)
		}
		m := contracts.NewMessage(rec, data, rec.Lane, "NOTIF_ROUTER", "")
		for range 2 { // each arrives twice
			if _, err := publisher.Publish(t.Context(), &pubsub.Message{Data: m.Data, Attributes: m.Attributes, OrderingKey: m.OrderingKey}).Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	until("there are three notifications", func() bool {
		docs, err := db.Collection("notifications").Documents(t.Context()).GetAll()
		return err == nil && len(docs) == 3
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
