package main

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/firestore/firestoretest"
	"outboxrelay/relay/workqueue"
	"outboxrelay/relay/workqueue/jobs"
	"outboxrelay/relay/workqueue/notifications"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// The example tells what it prints, beside both queues and with the templates of its catalog.
func TestExampleTells(t *testing.T) {
	_, address := firestoretest.Start(t, localfirestore.Options{})
	client := firestoretest.Client(t, address).Client
	text, err := os.ReadFile("catalog.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var catalog struct{ Templates map[string]any }
	if err := yaml.Unmarshal(text, &catalog); err != nil {
		t.Fatal(err)
	}
	texts, err := yaml.Marshal(catalog.Templates)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := jobs.ParseTemplates(texts)
	if err != nil {
		t.Fatal(err)
	}
	events, err := notifications.New(client, notifications.Default(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ofJobs := workqueue.Config{
		Client: client, Vocabulary: jobs.Vocabulary(), Handler: jobs.NewHandler(client, templates, map[string]jobs.Channel{"in_app": jobs.NewInApp(client)}),
	}
	queues, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	for _, cfg := range []workqueue.Config{ofJobs, events.Config()} {
		q, err := workqueue.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- q.Run(queues) }() // ends with queues
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for range 2 { // the second time the job is a repeat
		if err := run(ctx, client); err != nil {
			t.Error(err)
		}
	}
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("run a queue: %v", err)
		}
	}
}
