package doctor

import (
	"context"
	"path"
	"slices"

	sdk "cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
)

// deletedTopic is the topic of a subscription whose own was deleted.
const deletedTopic = "_deleted-topic_"

// orphans are subscriptions whose topic was deleted. They stay so when a topic of
// that name is made again. Who may not list subscriptions sees none.
func (e *exam) orphans(ctx context.Context, client *sdk.Client) []string {
	ctx, cancel := within(ctx)
	defer cancel()
	list, err := all(client.SubscriptionAdminClient.ListSubscriptions(ctx, &pb.ListSubscriptionsRequest{Project: "projects/" + e.Project}).Next)
	if err != nil {
		return nil // the look at each topic's says why
	}
	var out []string
	for _, s := range list {
		if s.GetTopic() == deletedTopic {
			out = append(out, path.Base(s.GetName()))
		}
	}
	slices.Sort(out)
	return out
}

// subscriptions tells which topics nobody listens to, and which subscriptions lose
// the order of an aggregate or its messages.
func (e *exam) subscriptions(g *Group, topics []*topic, orphans []string) {
	const check, did = "subscriptions", "get the subscriptions of each topic"
	looked, sound := 0, true
	note := func(f Finding) {
		f.Check, f.Result, f.Did, sound = check, Warn, did, false
		g.add(f)
	}
	for _, name := range orphans {
		note(Finding{
			Subject: name, Detail: "the subscription's topic was deleted: it gets nothing, also where a topic of that name was made again",
			Mend: []string{e.gcloudPubSub("subscriptions", "delete", name)}, Hint: "what it still holds goes with it",
		})
	}
	for _, t := range topics {
		if codeOf(t.err) == codes.NotFound {
			continue // there is nothing to listen to
		}
		if t.subsErr != nil {
			if codeOf(t.subsErr) == codes.PermissionDenied {
				g.skip(check, "%s may not look at subscriptions, which the service itself need not; %s may", e.account.name(), viewerRole)
				return
			}
			f := e.refused(check, did, pubsubAPI, viewerRole, t.subsErr)
			f.Subject, sound = t.Name, false
			g.add(f)
			continue
		}
		if len(t.names) == 0 && e.wanted(t) {
			note(Finding{
				Subject: t.Name, Detail: "the topic has no subscription (" + t.Purpose + "): what is published now is lost to whoever subscribes later",
				Mend: append(e.createDeadLetters(t.Topic), e.createSubscription(t.Subscription.Name, t.Subscription, t.Name)),
			})
		}
		for _, s := range t.subscriptions {
			looked++
			e.subscription(t, s, note)
		}
		for _, dead := range t.lost {
			note(Finding{
				Subject: dead, Detail: "nobody listens to this dead-letter topic, or it does not exist: what a consumer of " + t.Name + " cannot handle is lost",
				Mend: []string{e.createSubscription(dead+"-reader", t.Subscription.DeadLetterReader(), dead)},
			})
		}
	}
	if sound && looked > 0 {
		g.ok(check, did, "%d subscriptions, and every topic that needs one has one", looked)
	} else if sound {
		g.skip(check, "there is no topic that could have one")
	}
}

// wanted reports whether a topic without a subscription loses something. Samples
// of lag and token refresh signals are there for whoever wants them: clients hear
// of their signal through Firestore.
func (e *exam) wanted(t *topic) bool {
	return len(t.Targets) > 0 || t.Name == contracts.TopicErrors
}

// subscription judges one.
func (e *exam) subscription(t *topic, s *pb.Subscription, note func(Finding)) {
	name := path.Base(s.GetName())
	if s.GetDetached() {
		note(Finding{
			Subject: name, Detail: "the subscription is detached from " + t.Name + ": it gets nothing",
			Mend: []string{e.gcloudPubSub("subscriptions", "delete", name), e.createSubscription(name, t.Subscription, t.Name)},
		})
		return
	}
	if t.Subscription.Ordered && !s.GetEnableMessageOrdering() {
		note(Finding{
			Subject: name, Detail: "the subscription to " + t.Name + " has no message ordering: an aggregate's records arrive in any order",
			Mend: []string{e.createSubscription(name+"-ordered", t.Subscription, t.Name)},
			Hint: "ordering is fixed when a subscription is made: move the consumer to the new one, then delete " + name,
		})
	}
	if t.Subscription.DeadLetterTopic != "" && s.GetDeadLetterPolicy().GetDeadLetterTopic() == "" {
		note(Finding{
			Subject: name, Detail: "the subscription to " + t.Name + " has no dead-letter topic: a message that its consumer cannot handle comes again until it is too old, and holds back its aggregate; if the consumer is contracts/inbox, leave it so: the inbox dead-letters by itself",
			Mend: append(e.createDeadLetters(t.Topic), e.gcloudPubSub(append([]string{"subscriptions", "update", name}, t.Subscription.GcloudDeadLetters()...)...)),
			Hint: "Pub/Sub's own account needs roles/pubsub.publisher on the dead-letter topic and roles/pubsub.subscriber here; " + program + " catalog topics --gcloud prints the grants",
		})
	}
}
