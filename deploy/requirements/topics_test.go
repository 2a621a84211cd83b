package requirements_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
	"outboxrelay/deploy/requirements"
)

func TestTopicsAreThoseOfTheCatalog(t *testing.T) {
	catalog := defaultCatalog(t)
	var names []string
	targets := map[string]string{}
	for _, topic := range requirements.Of(catalog).Topics {
		names = append(names, topic.Name)
		targets[topic.Name] = strings.Join(topic.Targets, " ")
	}
	if diff := cmp.Diff(catalog.Topics(), names); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	for name, spec := range catalog.Targets {
		if spec.Kind == contracts.KindPubSub && !strings.Contains(" "+targets[spec.Topic]+" ", " "+name+" ") {
			t.Errorf("topic %s is for %q, and %s publishes to it", spec.Topic, targets[spec.Topic], name)
		}
	}
}

// TestSubscriptions: what carries an ordering key is subscribed to in order, a
// dead-letter topic has a subscription, and every number is one that Pub/Sub takes.
func TestSubscriptions(t *testing.T) {
	for _, topic := range requirements.Of(defaultCatalog(t)).Topics {
		s := topic.Subscription
		if ordered := topic.Name != contracts.TopicMetrics && topic.Name != contracts.TopicErrors; s.Ordered != ordered {
			t.Errorf("%s: ordered %v, want %v", topic.Name, s.Ordered, ordered)
		}
		if (s.DeadLetterTopic == "") != (s.DeadLetterSubscription == "") || (s.DeadLetterTopic == "") != (s.MaxDeliveryAttempts == 0) {
			t.Errorf("%s: dead-letter topic %q, its subscription %q, %d attempts", topic.Name, s.DeadLetterTopic, s.DeadLetterSubscription, s.MaxDeliveryAttempts)
		}
		within := func(what string, d, low, high time.Duration) {
			if d < low || d > high {
				t.Errorf("%s: %s is %v, want %v to %v", topic.Name, what, d, low, high)
			}
		}
		within("ack deadline", s.AckDeadline, 10*time.Second, 600*time.Second)
		within("retention", s.RetainFor, 10*time.Minute, 31*24*time.Hour)
		within("smallest backoff", s.MinBackoff, 0, s.MaxBackoff)
		within("largest backoff", s.MaxBackoff, s.MinBackoff, 600*time.Second)
		if s.DeadLetterTopic != "" && (s.MaxDeliveryAttempts < 5 || s.MaxDeliveryAttempts > 100) {
			t.Errorf("%s: %d delivery attempts, want 5 to 100", topic.Name, s.MaxDeliveryAttempts)
		}
	}
}

func TestSubscriptionAsJSON(t *testing.T) {
	got, err := json.Marshal(requirements.Subscription{
		Name: "s", Ordered: true, AckDeadline: time.Minute, RetainFor: time.Hour, MinBackoff: time.Second, MaxBackoff: 10 * time.Minute,
		DeadLetterTopic: "d", DeadLetterSubscription: "ds", MaxDeliveryAttempts: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"name":"s","ordered":true,"ackDeadline":"60s","retainFor":"3600s","minBackoff":"1s","maxBackoff":"600s",` +
		`"deadLetterTopic":"d","deadLetterReader":{"name":"ds","ordered":true,"ackDeadline":"60s","retainFor":"2678400s"},"maxDeliveryAttempts":5,"exactlyOnce":false}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTopicCommands(t *testing.T) {
	r := requirements.Of(defaultCatalog(t))
	var text strings.Builder
	if err := r.WriteTopicCommands(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"gcloud pubsub topics create ier-funnel-critical\n",
		"gcloud pubsub topics create ier-funnel-critical-dead-letters\n",
		"gcloud pubsub subscriptions create ier-funnel-critical-dead-letters-reader --topic=ier-funnel-critical-dead-letters --expiration-period=never --ack-deadline=60 --message-retention-duration=2678400s --enable-message-ordering\n",
		"gcloud pubsub subscriptions create ier-funnel-critical-consumer --topic=ier-funnel-critical --expiration-period=never --ack-deadline=60" +
			" --message-retention-duration=604800s --min-retry-delay=1s --max-retry-delay=600s --enable-message-ordering" +
			" --dead-letter-topic=ier-funnel-critical-dead-letters --max-delivery-attempts=20\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the commands lack %q:\n%s", want, text.String())
		}
	}
}
