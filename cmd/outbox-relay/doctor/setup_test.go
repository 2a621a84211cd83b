package doctor_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"outboxrelay/claims"
	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/requirements"
	dlqfirestore "outboxrelay/dlq/firestore"
)

const project = "my-project"

// clinic is an embedded cloud, and the settings of a service on it.
type clinic struct {
	t     *testing.T
	cloud *local.Cloud
	needs *requirements.Requirements
	doctor.Config
}

// bare is a cloud with nothing in it.
func bare(t *testing.T) *clinic {
	t.Helper()
	return openClinic(t, local.Options{})
}

func openClinic(t *testing.T, opts local.Options) *clinic {
	t.Helper()
	cloud, err := local.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &clinic{t: t, cloud: cloud, Config: settings()}
	c.Firestore, c.PubSub, c.Auth = cloud.FirestoreAddr, cloud.PubSubAddr, cloud.AuthAddr
	c.OpenFirestore, c.OpenPubSub = c.dialFirestore, c.dialPubSub
	catalog, err := c.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	c.needs = requirements.Of(catalog)
	return c
}

// settings are those of a service that nothing is wrong with, on no cloud.
func settings() doctor.Config {
	return doctor.Config{
		Project: project, Database: firestore.DefaultDatabaseID, Catalog: contracts.DefaultCatalog, Handler: claims.DefaultTarget,
		Host: "0.0.0.0", StopBudget: 8 * time.Second, LeaseTerm: 15 * time.Second, Env: func(string) string { return "" },
		Flags: []string{"--project", project},
	}
}

// complete is a cloud with all that the catalog asks for.
func complete(t *testing.T) *clinic {
	t.Helper()
	c := bare(t)
	c.withPubSub(func(client *pubsub.Client) {
		for _, topic := range c.needs.Topics {
			c.topic(client, topic.Name)
			c.subscribe(client, topic, topic.Subscription.Name, nil)
		}
	})
	return c
}

func (c *clinic) dialFirestore(ctx context.Context) (*dlqfirestore.Client, error) {
	return dlqfirestore.Open(ctx, c.Project, c.Database, local.FirestoreOptions(c.Firestore)...)
}

func (c *clinic) dialPubSub(ctx context.Context) (*pubsub.Client, error) {
	return pubsub.NewClient(ctx, c.Project, local.ClientOptions(c.PubSub)...)
}

// withPubSub lends a client.
func (c *clinic) withPubSub(do func(*pubsub.Client)) {
	c.t.Helper()
	client, err := c.dialPubSub(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	do(client)
	if err := client.Close(); err != nil {
		c.t.Error(err)
	}
}

// withFirestore lends a client.
func (c *clinic) withFirestore(do func(*dlqfirestore.Client)) {
	c.t.Helper()
	client, err := c.dialFirestore(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	do(client)
	if err := client.Close(); err != nil {
		c.t.Error(err)
	}
}

func topicName(name string) string { return "projects/" + project + "/topics/" + name }

func (c *clinic) topic(client *pubsub.Client, name string) {
	c.t.Helper()
	if _, err := client.TopicAdminClient.CreateTopic(c.t.Context(), &pb.Topic{Name: topicName(name)}); err != nil {
		c.t.Fatal(err)
	}
}

// subscribe makes the subscription that a topic needs, with its dead-letter topic,
// as change leaves it.
func (c *clinic) subscribe(client *pubsub.Client, t requirements.Topic, name string, change func(*pb.Subscription)) {
	c.t.Helper()
	s := &pb.Subscription{
		Name: "projects/" + project + "/subscriptions/" + name, Topic: topicName(t.Name), EnableMessageOrdering: t.Subscription.Ordered,
		AckDeadlineSeconds: int32(t.Subscription.AckDeadline.Seconds()), MessageRetentionDuration: durationpb.New(t.Subscription.RetainFor),
	}
	if dead := t.Subscription.DeadLetterTopic; dead != "" {
		c.topic(client, dead)
		c.plain(client, t.Subscription.DeadLetterSubscription, dead)
		s.DeadLetterPolicy = &pb.DeadLetterPolicy{DeadLetterTopic: topicName(dead), MaxDeliveryAttempts: int32(t.Subscription.MaxDeliveryAttempts)}
	}
	if change != nil {
		change(s)
	}
	if _, err := client.SubscriptionAdminClient.CreateSubscription(c.t.Context(), s); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clinic) plain(client *pubsub.Client, name, topic string) {
	c.t.Helper()
	_, err := client.SubscriptionAdminClient.CreateSubscription(c.t.Context(), &pb.Subscription{
		Name: "projects/" + project + "/subscriptions/" + name, Topic: topicName(topic),
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *clinic) examine() *doctor.Report {
	c.t.Helper()
	return doctor.Examine(c.t.Context(), c.Config)
}

// troubles lists what a report does not like: "check result subject", sorted.
func troubles(r *doctor.Report) []string {
	out := []string{}
	for _, g := range r.Groups {
		for _, f := range g.Findings {
			if f.Result == doctor.Warn || f.Result == doctor.Fail {
				out = append(out, strings.TrimSpace(f.Check+" "+string(f.Result)+" "+f.Subject))
			}
		}
	}
	slices.Sort(out)
	return out
}

// besides are the troubles that a complete cloud does not have. Nobody may use its
// admin API.
func besides(r *doctor.Report) []string {
	return slices.DeleteFunc(troubles(r), func(t string) bool { return t == "access.mode warn" })
}

// expect compares what a report does not like with what is wrong.
func expect(t *testing.T, r *doctor.Report, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	slices.Sort(want)
	for _, g := range r.Groups {
		for _, f := range g.Findings {
			if f.Detail == "" || (f.Result == doctor.Warn || f.Result == doctor.Fail) && f.Hint == "" && len(f.Mend) == 0 {
				t.Errorf("%s says not what to do: %+v", f.Check, f)
			}
		}
	}
	if diff := cmp.Diff(want, besides(r)); diff != "" {
		var b strings.Builder
		_ = r.WriteText(&b) // a builder takes everything
		t.Errorf("troubles (-want +got):\n%s\n%s", diff, b.String())
	}
}

// only is the one finding of a check, or of a subject of it.
func only(t *testing.T, r *doctor.Report, check, subject string) doctor.Finding {
	t.Helper()
	for _, f := range r.Of(check) {
		if f.Subject == subject {
			return f
		}
	}
	t.Fatalf("%s says nothing of %q: %+v", check, subject, r.Of(check))
	return doctor.Finding{}
}
