package requirements

import (
	"slices"
	"strings"

	"outboxrelay/contracts"
)

// Permission is an IAM permission that the service's account needs.
type Permission struct {
	Name    string   `json:"name"`    // such as datastore.entities.create
	Service string   `json:"service"` // the API that asks for it: firestore.googleapis.com
	Role    string   `json:"role"`    // a predefined role that grants it
	Methods []string `json:"methods"` // the calls that need it; a Commit with the kind of its writes
	Call    string   `json:"call"`    // the same, and what for
	When    string   `json:"when"`    // WhenAlways, or the setting that needs it
}

// When a permission is needed.
const (
	WhenAlways       = ""
	WhenEnsureTopics = "--ensure-topics"
	WhenHandler      = "targets of kind handler"
)

// The APIs that the service calls.
const (
	serviceFirestore = "firestore.googleapis.com"
	servicePubSub    = "pubsub.googleapis.com"
	serviceAuth      = "identitytoolkit.googleapis.com"
)

// Predefined roles. Each grants more than is asked for here; a custom role of
// the permissions alone is narrower.
const (
	roleDatastoreUser   = "roles/datastore.user"
	rolePublisher       = "roles/pubsub.publisher"
	roleTopicViewer     = "roles/pubsub.viewer"
	roleTopicEditor     = "roles/pubsub.editor"
	roleFirebaseAuthAll = "roles/firebaseauth.admin"
)

// permissionsOf lists what the service needs for a catalog. Which permission a
// call asks for is in Google's documentation of each API's access control.
func permissionsOf(catalog *contracts.Catalog) []Permission {
	queries := []string{"RunQuery", "RunAggregationQuery", "Listen"}
	out := []Permission{
		need("datastore.entities.get", serviceFirestore, roleDatastoreUser, WhenAlways,
			"records, dead letters, freezes, leases, claims, work queues", append([]string{"BatchGetDocuments"}, queries...)...),
		need("datastore.entities.list", serviceFirestore, roleDatastoreUser, WhenAlways,
			"lanes, sweeps, lists and counts of the queue, work queues", queries...),
		need("datastore.databases.get", serviceFirestore, roleDatastoreUser, WhenAlways,
			"counts of one moment by the sweeps, and of dead letters older than a replay", "BeginTransaction"),
		need("datastore.entities.create", serviceFirestore, roleDatastoreUser, WhenAlways,
			"canaries, dead letters, freezes, alerts, audit entries, leases, claims, messages and notifications of the work queues", "Commit create"),
		need("datastore.entities.update", serviceFirestore, roleDatastoreUser, WhenAlways,
			"marks of records, decisions, renewals of leases, claims, work queues", "Commit update"),
		need("datastore.entities.delete", serviceFirestore, roleDatastoreUser, WhenAlways,
			"records of outboxes with onDelivered delete, freezes that were released, canaries, what instances that stopped leave", "Commit delete"),
		need("pubsub.topics.publish", servicePubSub, rolePublisher, WhenAlways,
			"every topic of the catalog and of the service; of the jobs, the one of channel pubsub", "Publish"),
		need("pubsub.topics.get", servicePubSub, roleTopicViewer, WhenAlways,
			"the look at every topic before the service starts", "GetTopic"),
		need("pubsub.topics.create", servicePubSub, roleTopicEditor, WhenEnsureTopics, "topics that are missing", "CreateTopic"),
	}
	if hasHandler(catalog) {
		out = append(
			out,
			need("firebaseauth.users.get", serviceAuth, roleFirebaseAuthAll, WhenHandler, "the claims that a user has", "accounts:lookup"),
			need("firebaseauth.users.update", serviceAuth, roleFirebaseAuthAll, WhenHandler, "custom claims, and the end of refresh tokens", "accounts:update"),
		)
	}
	return out
}

func need(name, service, role, when, what string, methods ...string) Permission {
	return Permission{name, service, role, methods, strings.Join(methods, ", ") + ": " + what, when}
}

func hasHandler(catalog *contracts.Catalog) bool {
	for _, o := range catalog.Outboxes {
		for _, e := range o.Events {
			if slices.ContainsFunc(e.Targets, func(name string) bool { return catalog.Targets[name].Kind == contracts.KindHandler }) {
				return true
			}
		}
	}
	return false
}
