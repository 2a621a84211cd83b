package doctor_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/deploy/local/google"
)

// shapeOf is a command without what differs from one finding to the next: names and
// values.
func shapeOf(line string) string {
	var shape []string
	verb := false
	for word := range strings.FieldsSeq(line) {
		flag, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(word, "--") && !slices.Contains(shape, flag) || !verb && !strings.Contains(word, "=") {
			shape = append(shape, flag)
		}
		verb = verb || slices.Contains([]string{"create", "update", "delete", "list", "enable", "describe", "add-iam-policy-binding"}, word)
	}
	return strings.Join(shape, " ")
}

// gcloud itself takes every command that is printed: it knows their flags, and
// fails no sooner than at its endpoint, which knows nothing.
func TestMendsOnGoogle(t *testing.T) {
	if os.Getenv(google.PubSubVar) == "" {
		t.Skipf("%s is unset: Google's emulators are not asked for", google.PubSubVar)
	}
	if _, err := exec.LookPath("gcloud"); err != nil {
		t.Skip("gcloud is not installed")
	}
	endpoint := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(endpoint.Close)
	env := append(os.Environ(), "CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true", "CLOUDSDK_CORE_DISABLE_PROMPTS=true")
	for _, api := range []string{"FIRESTORE", "PUBSUB", "CLOUDRESOURCEMANAGER", "SERVICEUSAGE"} {
		env = append(env, "CLOUDSDK_API_ENDPOINT_OVERRIDES_"+api+"="+endpoint.URL+"/")
	}
	shapes := map[string]string{}
	for _, line := range everyMend(t) {
		line = line[strings.Index(line, "gcloud "):]
		shapes[shapeOf(line)] = line
	}
	if len(shapes) < 10 {
		t.Errorf("only %d kinds of command: %q", len(shapes), shapes)
	}
	for _, shape := range slices.Sorted(maps.Keys(shapes)) {
		t.Log(shape)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", shapes[shape])
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 { //nolint:errorlint // as Run returns it
			t.Errorf("%s: %v, want that it fails at its endpoint alone\n%s", shapes[shape], err, out)
		}
	}
}

// everyMend lists the commands of gcloud that the worst of reports print.
func everyMend(t *testing.T) []string {
	var reports []*doctor.Report
	poor := complete(t)
	poor.AdminOptions = (&definitions{database: defined(poor.needs).database}).serve(t)
	poor.ResourceOptions = granting(t)
	poor.withPubSub(func(client *pubsub.Client) {
		poor.plain(client, "careless", "ier-notif-router")
		for _, s := range []string{"ier-org-schedule-consumer", "ier-org-context-acl-dead-letters-reader"} {
			if err := client.SubscriptionAdminClient.DeleteSubscription(t.Context(), &pb.DeleteSubscriptionRequest{Subscription: "projects/" + project + "/subscriptions/" + s}); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.TopicAdminClient.DeleteTopic(t.Context(), &pb.DeleteTopicRequest{Topic: topicName("ier-tag-subscriber")}); err != nil {
			t.Fatal(err)
		}
	})
	reports = append(reports, poor.examine())

	building := complete(t)
	d := defined(building.needs)
	for _, i := range d.indexes {
		i.State = 1 // being built
	}
	d.database.Type = 2 // Datastore mode
	building.AdminOptions = d.serve(t)
	reports = append(reports, building.examine())

	closed := complete(t)
	closed.PubSub = (&guarded{closed: []string{topicName("ier-notif-router")}}).serve(t)
	closed.withPubSub(func(client *pubsub.Client) { closed.topic(client, "ier-notif-router") })
	denied := status.Error(codes.PermissionDenied, "no")
	closed.cloud.Firestore.Faults().Add(refuseAll(denied))
	reports = append(reports, closed.examine())

	var out []string
	for _, r := range reports {
		for _, g := range r.Groups {
			for _, f := range g.Findings {
				for _, m := range f.Mend {
					if strings.Contains(m, "gcloud ") {
						out = append(out, m)
					}
				}
			}
		}
	}
	return out
}
