package doctor

import (
	"context"
	"path"
	"slices"
	"strings"

	"cloud.google.com/go/iam/apiv1/iampb"
	sdk "cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"outboxrelay/contracts"
	"outboxrelay/deploy/requirements"
)

const (
	pubsubAPI     = "pubsub.googleapis.com"
	publisherRole = "roles/pubsub.publisher"
	viewerRole    = "roles/pubsub.viewer"
	publish       = "pubsub.topics.publish"
	getTopic      = "pubsub.topics.get"
	// topicsAtOnce are looked at at the same time at most: the quota of such calls
	// is small.
	topicsAtOnce = 8
)

var pubsubChecks = []string{"pubsub.publish", "topics", "subscriptions"}

// pubsub looks at topics and subscriptions. Nothing is published: whoever listens
// would have to make sense of it.
func (e *exam) pubsub(ctx context.Context) Group {
	g := Group{Name: "pubsub"}
	topics, client := e.reachPubSub(ctx, &g)
	if client == nil {
		g.skipAll(pubsubChecks, "Pub/Sub cannot be asked")
		return g
	}
	defer client.Close() //nolint:errcheck // nothing was published
	if e.needs == nil {
		g.skipAll(pubsubChecks, "there is no catalog")
		return g
	}
	e.looked = e.lookAtTopics(ctx, client)
	e.publishing(&g, e.looked)
	e.existing(&g, e.looked, topics)
	e.subscriptions(&g, e.looked, e.orphans(ctx, client))
	return g
}

// reachPubSub connects and lists the topics' names; a nil client after a finding
// that says why nothing else can be asked. Without the right to list, topics is nil.
func (e *exam) reachPubSub(ctx context.Context, g *Group) (topics []string, client *sdk.Client) {
	const check, did = "pubsub", "list the topics"
	if !e.mayAsk(ctx, g, check, e.PubSub, "--pubsub") {
		return nil, nil
	}
	ctx, cancel := within(ctx)
	defer cancel()
	client, err := e.OpenPubSub(ctx)
	if err != nil {
		g.add(Finding{Check: check, Result: Fail, Did: "connect to Pub/Sub", Detail: why(err), Hint: "the client itself cannot be made: mend what it says of credentials or addresses"})
		return nil, nil
	}
	list, err := all(client.TopicAdminClient.ListTopics(ctx, &pb.ListTopicsRequest{Project: "projects/" + e.Project}).Next)
	switch {
	case err == nil:
		for _, t := range list {
			topics = append(topics, path.Base(t.GetName()))
		}
		slices.Sort(topics)
		g.ok(check, did, "%d topics", len(topics))
		return topics, client
	case codeOf(err) == codes.PermissionDenied && !disabled(err):
		g.skip(check, "%s may not list topics, which the service itself need not; %s may", e.account.name(), viewerRole)
		return nil, client
	}
	g.add(e.refused(check, did, pubsubAPI, viewerRole, err))
	_ = client.Close() // nothing was published
	return nil, nil
}

// topic is what was seen of one.
type topic struct {
	requirements.Topic
	err           error // of the look at the topic
	publish       error // nil: it may be published to
	subscriptions []*pb.Subscription
	names         []string // of subscriptions, also those that may not be looked at
	subsErr       error
	lost          []string // dead-letter topics of its subscriptions that nobody listens to
}

// lookAtTopics looks at every topic that the catalog asks for.
func (e *exam) lookAtTopics(ctx context.Context, client *sdk.Client) []*topic {
	ctx, cancel := within(ctx)
	defer cancel()
	looks, ctx := errgroup.WithContext(ctx)
	looks.SetLimit(topicsAtOnce)
	out := make([]*topic, len(e.needs.Topics))
	for n, t := range e.needs.Topics {
		out[n] = &topic{Topic: t}
		looks.Go(func() error {
			out[n].look(ctx, client)
			return nil
		})
	}
	_ = looks.Wait() // each has its own answer
	return out
}

func (t *topic) look(ctx context.Context, client *sdk.Client) {
	name := "projects/" + client.Project() + "/topics/" + t.Name
	if _, t.err = client.TopicAdminClient.GetTopic(ctx, &pb.GetTopicRequest{Topic: name}); codeOf(t.err) == codes.NotFound {
		return
	}
	t.publish = mayPublish(ctx, client, name)
	t.names, t.subsErr = all(client.TopicAdminClient.ListTopicSubscriptions(ctx, &pb.ListTopicSubscriptionsRequest{Topic: name}).Next)
	for _, s := range t.names {
		sub, err := client.SubscriptionAdminClient.GetSubscription(ctx, &pb.GetSubscriptionRequest{Subscription: s})
		if err != nil {
			t.subsErr = err
			continue
		}
		t.subscriptions = append(t.subscriptions, sub)
		if dead := sub.GetDeadLetterPolicy().GetDeadLetterTopic(); dead != "" {
			listeners, err := all(client.TopicAdminClient.ListTopicSubscriptions(ctx, &pb.ListTopicSubscriptionsRequest{Topic: dead}).Next)
			if codeOf(err) == codes.NotFound || err == nil && len(listeners) == 0 {
				t.lost = append(t.lost, path.Base(dead))
			}
		}
	}
}

// errNotAllowed: IAM says no.
type errNotAllowed struct{ permission string }

func (e errNotAllowed) Error() string { return "lacks " + e.permission }

// mayPublish asks IAM, which publishes nothing. Emulators have none.
func mayPublish(ctx context.Context, client *sdk.Client, name string) error {
	resp, err := client.TopicAdminClient.TestIamPermissions(ctx, &iampb.TestIamPermissionsRequest{Resource: name, Permissions: []string{publish}})
	if err == nil && !slices.Contains(resp.GetPermissions(), publish) {
		return errNotAllowed{publish}
	}
	return err
}

// publishing tells which topics the account may not publish to.
func (e *exam) publishing(g *Group, topics []*topic) {
	const check, did = "pubsub.publish", "ask IAM for " + publish + " on each topic"
	allowed, asked := 0, 0
	for _, t := range topics {
		if codeOf(t.err) == codes.NotFound {
			continue
		}
		asked++
		if t.publish == nil {
			allowed++
			continue
		}
		if _, denied := t.publish.(errNotAllowed); !denied { //nolint:errorlint // mayPublish returns it as it is
			g.skip(check, "this Pub/Sub does not tell who may publish: %s", why(t.publish))
			return
		}
		g.add(Finding{
			Check: check, Result: Fail, Subject: t.Name, Did: did, Detail: e.account.name() + " may not publish to it: records for it wait",
			Mend: []string{e.grantOnTopic(t.Name, publisherRole)},
		})
	}
	switch {
	case asked == 0:
		g.skip(check, "there is no topic to publish to")
	case allowed > 0:
		g.ok(check, did, "%s may publish to %d of %d topics", e.account.name(), allowed, asked)
	}
}

// existing tells which topics are missing, and which the catalog does not know.
func (e *exam) existing(g *Group, topics []*topic, live []string) {
	const check, did = "topics", "get each topic"
	there := 0
	for _, t := range topics {
		switch codeOf(t.err) {
		case codes.OK:
			there++
		case codes.NotFound:
			f := Finding{
				Check: check, Result: Fail, Subject: t.Name, Did: did, Detail: "the topic is missing (" + t.Purpose + "): what is for it waits",
				Mend: []string{e.createTopic(t.Name)},
			}
			if e.EnsureTopics {
				f.Result, f.Hint = Warn, "ENSURE_TOPICS is set: the service makes it at its start"
			}
			g.add(f)
		case codes.PermissionDenied:
			g.skip(check, "%s may not look at topics, which the service itself need not; %s may", e.account.name(), viewerRole)
			return
		default:
			f := e.refused(check, did, pubsubAPI, viewerRole, t.err)
			f.Subject = t.Name
			g.add(f)
		}
	}
	if there > 0 {
		g.ok(check, did, "%d of %d topics are there", there, len(topics))
	}
	for _, name := range e.strangers(topics, live) {
		g.add(Finding{
			Check: check, Result: Warn, Subject: name, Did: "list the topics", Detail: "the topic is named like the catalog's, and the catalog does not know it: nothing is published to it any more",
			Hint: "its consumers get nothing; delete it, or put its target back into the catalog",
		})
	}
}

// strangers are live topics that begin as all topics of the catalog's targets do,
// and are none of them.
func (e *exam) strangers(topics []*topic, live []string) []string {
	prefix := ""
	for _, t := range e.catalog.Targets {
		if t.Kind != contracts.KindPubSub {
			continue
		}
		head, _, ok := strings.Cut(t.Topic, "-")
		if !ok || prefix != "" && prefix != head+"-" {
			return nil // they have nothing in common
		}
		prefix = head + "-"
	}
	if prefix == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(live), func(name string) bool {
		return !strings.HasPrefix(name, prefix) || slices.ContainsFunc(topics, func(t *topic) bool {
			return t.Name == name || t.Subscription.DeadLetterTopic == name // which the service never publishes to
		})
	})
}
