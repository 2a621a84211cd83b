package requirements

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteTopicCommands writes the gcloud commands that make every topic, a
// subscription to each, and its dead-letter topic with a subscription and the
// grants that Pub/Sub needs. They are lines of a shell; PROJECT_NUMBER is the
// project's.
func (r *Requirements) WriteTopicCommands(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Pub/Sub forwards dead letters as this account.\n")
	b.WriteString("AGENT=serviceAccount:service-${PROJECT_NUMBER:?set it to the number of the project}@gcp-sa-pubsub.iam.gserviceaccount.com\n")
	for _, t := range r.Topics {
		s := t.Subscription
		fmt.Fprintf(&b, "\n# %s\ngcloud pubsub topics create %s\n", t.Purpose, t.Name)
		if s.DeadLetterTopic != "" {
			fmt.Fprintf(&b, "gcloud pubsub topics create %s\n", s.DeadLetterTopic)
			fmt.Fprintln(&b, "gcloud pubsub", strings.Join(s.DeadLetterReader().GcloudCreate(s.DeadLetterTopic), " "))
			fmt.Fprintf(&b, "gcloud pubsub topics add-iam-policy-binding %s --member=\"$AGENT\" --role=roles/pubsub.publisher\n", s.DeadLetterTopic)
		}
		fmt.Fprintln(&b, "gcloud pubsub", strings.Join(s.GcloudCreate(t.Name), " "))
		if s.DeadLetterTopic != "" {
			fmt.Fprintf(&b, "gcloud pubsub subscriptions add-iam-policy-binding %s --member=\"$AGENT\" --role=roles/pubsub.subscriber\n", s.Name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// GcloudCreate are the words, behind "gcloud pubsub", of the command that makes
// the subscription to a topic. What is zero stays as Pub/Sub makes it.
func (s Subscription) GcloudCreate(topic string) []string {
	words := []string{"subscriptions", "create", s.Name, "--topic=" + topic, "--expiration-period=never"}
	if s.AckDeadline > 0 {
		words = append(words, fmt.Sprintf("--ack-deadline=%d", s.AckDeadline/time.Second)) // in seconds, without a unit
	}
	for _, of := range []struct {
		flag string
		d    time.Duration
	}{
		{"--message-retention-duration", s.RetainFor},
		{"--min-retry-delay", s.MinBackoff},
		{"--max-retry-delay", s.MaxBackoff},
	} {
		if of.d > 0 {
			words = append(words, of.flag+"="+seconds(of.d).String())
		}
	}
	if s.Ordered {
		words = append(words, "--enable-message-ordering")
	}
	if s.ExactlyOnce {
		words = append(words, "--enable-exactly-once-delivery")
	}
	if s.DeadLetterTopic != "" {
		words = append(words, s.GcloudDeadLetters()...)
	}
	return words
}

// GcloudDeadLetters are the flags that give a subscription its dead-letter topic.
func (s Subscription) GcloudDeadLetters() []string {
	return []string{"--dead-letter-topic=" + s.DeadLetterTopic, fmt.Sprintf("--max-delivery-attempts=%d", s.MaxDeliveryAttempts)}
}
