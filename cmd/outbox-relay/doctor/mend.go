package doctor

import (
	"slices"
	"strings"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/requirements"
)

// loginCommand gives a person credentials that programs find.
const loginCommand = "gcloud auth application-default login"

// program is how the doctor's own program is called.
const program = "outbox-relay"

// command joins words to a line for a shell.
func command(words ...string) string {
	for i, w := range words {
		words[i] = shell.Quote(w)
	}
	return strings.Join(words, " ")
}

// gcloud is a gcloud command on the project.
func (e *exam) gcloud(words ...string) string {
	return command(append(append([]string{"gcloud"}, words...), "--project="+e.Project)...)
}

// gcloudPubSub is a gcloud command on the project's Pub/Sub, also where that is an
// emulator.
func (e *exam) gcloudPubSub(words ...string) string {
	line := e.gcloud(append([]string{"pubsub"}, words...)...)
	if e.PubSub != "" {
		line = "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB=http://" + e.PubSub + "/ CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true " + line
	}
	return line
}

// grant gives the account a role in the project.
func (e *exam) grant(role string) string {
	return command("gcloud", "projects", "add-iam-policy-binding", e.Project) + " --member=" + e.account.member() + " " + command("--role="+role, "--condition=None")
}

// grantOnTopic gives the account a role on one topic.
func (e *exam) grantOnTopic(topic, role string) string {
	return e.gcloudPubSub("topics", "add-iam-policy-binding", topic) + " --member=" + e.account.member() + " --role=" + role
}

// createDatabase is the command that makes the database. Its location is for good
// and has to be chosen.
func (e *exam) createDatabase() string {
	return e.gcloud("firestore", "databases", "create", "--database="+e.Database, "--location=europe-west1", "--type=firestore-native")
}

// createIndex is the command that makes a composite index.
func (e *exam) createIndex(i requirements.CompositeIndex) string {
	words := []string{
		"firestore", "indexes", "composite", "create", "--database=" + e.Database,
		"--collection-group=" + i.CollectionGroup, "--query-scope=" + strings.ReplaceAll(strings.ToLower(i.QueryScope), "_", "-"),
	}
	for _, f := range i.Fields {
		mode := "order=" + strings.ToLower(f.Order)
		if f.ArrayConfig != "" {
			mode = "array-config=" + strings.ToLower(f.ArrayConfig)
		}
		words = append(words, "--field-config=field-path="+f.FieldPath+","+mode)
	}
	return e.gcloud(append(words, "--async")...)
}

// enableTTL is the command that makes a field its collection's time of expiry.
func (e *exam) enableTTL(collection, field string) string {
	return e.gcloud("firestore", "fields", "ttls", "update", field, "--database="+e.Database, "--collection-group="+collection, "--enable-ttl", "--async")
}

// exempt is the command that gives a field the single-field indexes of an
// override; mostly none. gcloud cannot make one for collection groups: firebase does, with
// all that firestore.indexes.json holds.
func (e *exam) exempt(o requirements.FieldOverride) string {
	if slices.ContainsFunc(o.Indexes, func(i indexes.Single) bool { return i.QueryScope == indexes.ScopeGroup }) {
		return command("firebase", "deploy", "--only=firestore:indexes", "--project="+e.Project)
	}
	words := []string{"firestore", "indexes", "fields", "update", o.FieldPath, "--database=" + e.Database, "--collection-group=" + o.CollectionGroup}
	for _, i := range o.Indexes {
		mode := "order=" + strings.ToLower(i.Order)
		if i.ArrayConfig != "" {
			mode = "array-config=" + strings.ToLower(i.ArrayConfig)
		}
		words = append(words, "--index="+mode)
	}
	if len(o.Indexes) == 0 {
		words = append(words, "--disable-indexes")
	}
	return e.gcloud(append(words, "--async")...)
}

// createTopic is the command that makes a topic. An emulator is not gcloud's: there
// the service itself makes its topics.
func (e *exam) createTopic(topic string) string {
	if e.PubSub != "" {
		return e.own("serve", "--ensure-topics")
	}
	return e.gcloudPubSub("topics", "create", topic)
}

// createSubscription is the command that makes a subscription to a topic, like s
// but for its name.
func (e *exam) createSubscription(name string, s requirements.Subscription, topic string) string {
	s.Name = name
	return e.gcloudPubSub(s.GcloudCreate(topic)...)
}

// own is a command of the doctor's own program, led to the same place and catalog.
func (e *exam) own(words ...string) string {
	return command(append(append([]string{program}, words...), e.Flags...)...)
}

// createDeadLetters are the commands that make the dead-letter topic of a topic's
// consumers, and a subscription that keeps what comes to it. Those for a topic that
// exists do no harm: gcloud says so.
func (e *exam) createDeadLetters(t requirements.Topic) []string {
	s := t.Subscription
	if s.DeadLetterTopic == "" {
		return nil
	}
	return []string{e.gcloudPubSub("topics", "create", s.DeadLetterTopic), e.createSubscription(s.DeadLetterSubscription, s.DeadLetterReader(), s.DeadLetterTopic)}
}
