package doctor_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"

	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/contracts"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	dlqfirestore "outboxrelay/dlq/firestore"
)

func TestACompleteCloudIsFit(t *testing.T) {
	c := complete(t)
	r := c.examine()
	expect(t, r)
	if r.Verdict != doctor.Warn || r.Counts.Fail != 0 {
		t.Errorf("verdict %s, %+v", r.Verdict, r.Counts)
	}
	for _, check := range []string{
		"settings.project", "catalog", "firestore.read", "firestore.query", "firestore.count", "firestore.transaction", "firestore.listen", "firestore.write",
		"clock", "indexes", "outboxes", "leases", "topics", "subscriptions", "auth.lookup",
	} {
		if f := r.Of(check); len(f) != 1 || f[0].Result != doctor.OK {
			t.Errorf("%s: %+v, want ok", check, f)
		}
	}
	for _, check := range []string{"ttl", "exemptions", "pubsub.publish", "permissions", "credentials", "service"} {
		if f := r.Of(check); len(f) != 1 || f[0].Result != doctor.Skip || f[0].Detail == "" {
			t.Errorf("%s: %+v, want a reason why it is not judged", check, f)
		}
	}
}

func TestABareCloudLacksItsTopics(t *testing.T) {
	c := bare(t)
	r := c.examine()
	var want []string
	for _, topic := range c.needs.Topics {
		want = append(want, "topics fail "+topic.Name)
	}
	expect(t, r, want...)
	if r.Verdict != doctor.Fail {
		t.Errorf("verdict %s", r.Verdict)
	}
	c.EnsureTopics = true
	for i, w := range want {
		want[i] = strings.Replace(w, "fail", "warn", 1)
	}
	expect(t, c.examine(), want...)
}

// The doctor leaves nothing behind, and publishes nothing.
func TestNothingIsLeftBehind(t *testing.T) {
	c := complete(t)
	c.examine()
	c.withFirestore(func(client *dlqfirestore.Client) {
		left, err := client.Collections(t.Context()).GetAll()
		if err != nil || len(left) != 0 {
			t.Errorf("%v, collections left: %v", err, left)
		}
	})
	if n := c.cloud.PubSub.Counts(); len(n.Published) != 0 {
		t.Errorf("published: %+v", n)
	}
}

// The document of its own is removed also when its change is refused.
func TestTheProbeIsRemovedAfterAFailure(t *testing.T) {
	c := complete(t)
	c.cloud.Firestore.Faults().Add(localfirestore.Fault{Method: "Commit", Skip: 1, Times: 1, Code: codes.Internal})
	expect(t, c.examine(), "firestore.write fail")
	c.withFirestore(func(client *dlqfirestore.Client) {
		left, err := client.Collection("relay-doctor").Documents(t.Context()).GetAll()
		if err != nil || len(left) != 0 {
			t.Errorf("%v, %d documents left", err, len(left))
		}
	})
}

func TestMissingPieces(t *testing.T) {
	t.Run("an index", func(t *testing.T) {
		catalog, err := contracts.DefaultCatalog()
		if err != nil {
			t.Fatal(err)
		}
		declared := complete(t).needs.IndexFile()
		declared.Indexes = slices.DeleteFunc(declared.Indexes, func(i indexes.Composite) bool { return i.CollectionGroup == "accOutbox" })
		c := openClinic(t, local.Options{Indexes: &declared, Project: project, Topics: catalog.Topics()})
		r := c.examine()
		f := only(t, r, "indexes", "accOutbox (status, lane, createdAt)")
		if f.Result != doctor.Fail || len(f.Mend) == 0 {
			t.Errorf("%+v", f)
		}
	})
	t.Run("a topic", func(t *testing.T) {
		c := complete(t)
		c.withPubSub(func(client *pubsub.Client) {
			if err := client.TopicAdminClient.DeleteTopic(t.Context(), &pb.DeleteTopicRequest{Topic: topicName("ier-notif-router")}); err != nil {
				t.Fatal(err)
			}
		})
		r := c.examine()
		expect(t, r, "topics fail ier-notif-router", "subscriptions warn ier-notif-router-consumer")
		if f := only(t, r, "topics", "ier-notif-router"); !slices.Contains(f.Mend, "outbox-relay serve --ensure-topics --project my-project") {
			t.Errorf("%q does not make it", f.Mend)
		}
	})
	t.Run("a subscription", func(t *testing.T) {
		c := complete(t)
		c.withPubSub(func(client *pubsub.Client) {
			err := client.SubscriptionAdminClient.DeleteSubscription(t.Context(), &pb.DeleteSubscriptionRequest{
				Subscription: "projects/" + project + "/subscriptions/ier-notif-router-consumer",
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		expect(t, c.examine(), "subscriptions warn ier-notif-router")
	})
	t.Run("message ordering", func(t *testing.T) {
		c := complete(t)
		c.withPubSub(func(client *pubsub.Client) {
			c.plain(client, "careless", "ier-notif-router")
		})
		expect(t, c.examine(), "subscriptions warn careless", "subscriptions warn careless") // no order, and no dead-letter topic
	})
	t.Run("a reader of dead letters", func(t *testing.T) {
		c := complete(t)
		c.withPubSub(func(client *pubsub.Client) {
			err := client.SubscriptionAdminClient.DeleteSubscription(t.Context(), &pb.DeleteSubscriptionRequest{
				Subscription: "projects/" + project + "/subscriptions/ier-notif-router-dead-letters-reader",
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		expect(t, c.examine(), "subscriptions warn ier-notif-router-dead-letters")
	})
	t.Run("a topic of a target that is gone", func(t *testing.T) {
		c := complete(t)
		c.withPubSub(func(client *pubsub.Client) {
			c.topic(client, "ier-yesterday")
			c.topic(client, "somebody-elses")
		})
		expect(t, c.examine(), "topics warn ier-yesterday")
	})
}

func TestOutOfReach(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		c := complete(t)
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.Firestore = lis.Addr().String()
		if err := lis.Close(); err != nil {
			t.Fatal(err)
		}
		r := c.examine()
		expect(t, r, "firestore.read fail")
		f := only(t, r, "firestore.read", "")
		if !strings.Contains(f.Detail, "refused") || !slices.Contains(f.Mend, "outbox-relay cloud --firestore "+c.Firestore+" --project my-project") {
			t.Errorf("%+v", f)
		}
		if topics := r.Of("topics"); len(topics) != 1 || topics[0].Result != doctor.OK {
			t.Errorf("the other services were not looked at: %+v", topics)
		}
	})
	// A connection that is taken and never answered is bounded by the timeout.
	t.Run("a black hole", func(t *testing.T) {
		c := complete(t)
		hole := blackHole(t)
		c.Firestore, c.PubSub, c.Auth = hole, hole, hole
		c.Timeout = 500 * time.Millisecond
		r := c.examine()
		expect(t, r, "firestore.read fail", "pubsub fail", "auth.lookup fail")
		if f := only(t, r, "firestore.read", ""); !strings.Contains(f.Detail, "no answer in time") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		c := complete(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := doctor.Examine(ctx, c.Config)
		for _, check := range []string{"settings.project", "catalog", "firestore.read", "indexes", "topics", "auth.lookup"} {
			if len(r.Of(check)) == 0 {
				t.Errorf("%s is not in the report", check)
			}
		}
	})
}

// blackHole takes connections and says nothing.
func blackHole(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var taken []net.Conn
		for {
			conn, err := lis.Accept()
			if err != nil {
				break
			}
			taken = append(taken, conn)
		}
		for _, conn := range taken {
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		lis.Close()
		<-done
	})
	return lis.Addr().String()
}
