package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local"
	"outboxrelay/deploy/requirements"
)

// site under examination: a project of its own, with nothing in it.
type examined struct {
	t   *testing.T
	at  gcp.Place
	env map[string]string
	// needs are those of the built-in catalog, with its handler of claims.
	needs *requirements.Requirements
}

// openExamined is on Google's emulators where they run, and else on an embedded
// cloud without topics.
func openExamined(t *testing.T) *examined {
	t.Helper()
	at := placeWithAuth(t, func(at gcp.Place) gcp.Place { // with no topics
		cloud, err := local.Start(local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cloud.Close(); err != nil {
				t.Error(err)
			}
		})
		at.Firestore, at.PubSub, at.Auth = cloud.FirestoreAddr, cloud.PubSubAddr, cloud.AuthAddr
		return at
	})
	catalog, err := loadCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	return &examined{t: t, at: at, needs: requirements.Of(catalog), env: map[string]string{
		"GOOGLE_CLOUD_PROJECT": at.Project, gcp.EnvFirestore: at.Firestore, gcp.EnvPubSub: at.PubSub, gcp.EnvAuth: at.Auth, envLeaseTerm: standTerm.String(),
		"HOST": "127.0.0.1", "PORT": "0", "AUTH_MODE": "dev",
	}}
}

// doctor runs the program and reads its report.
func (x *examined) doctor(args ...string) (doctor.Report, result) {
	x.t.Helper()
	got := runProgram(x.t, x.env, "", append([]string{"doctor", "--json"}, args...)...)
	var r doctor.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		x.t.Fatalf("%v: %+v", err, got)
	}
	x.commands(r)
	return r, got
}

// commands looks that the report's own commands are commands of this program, and
// those of gcloud name the project.
func (x *examined) commands(r doctor.Report) {
	x.t.Helper()
	for _, g := range r.Groups {
		for _, f := range g.Findings {
			for _, line := range f.Mend {
				words := shellWords(x.t, line)
				switch {
				case words[0] == "outbox-relay":
					if cmd, err := parse(words[1:], shell.LookupIn(x.env), nil, nil); err != nil || cmd == nil {
						x.t.Errorf("%s: %q is no command of this program: %v", f.Check, line, err)
					}
				case words[0] == "gcloud" || strings.HasPrefix(words[0], "CLOUDSDK_"):
					if !strings.Contains(line, x.at.Project) {
						x.t.Errorf("%s: %q does not name the project", f.Check, line)
					}
				default:
					x.t.Errorf("%s: %q", f.Check, line)
				}
			}
		}
	}
}

// shellWords has the shell take a line apart.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '%s\n' `+line).Output()
	if err != nil {
		t.Fatalf("%q is no line for a shell: %v", line, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// verdicts lists what a report does not like: "check result subject", sorted.
func verdicts(r doctor.Report) []string {
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

func (x *examined) expect(r doctor.Report, want ...string) {
	x.t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(append([]string{}, want...), verdicts(r)); diff != "" {
		x.t.Errorf("what it does not like (-want +got):\n%s", diff)
	}
}

// settlesOn looks until a running service gives it this not to like and nothing
// else: now and then one rebuilds a listener.
func (x *examined) settlesOn(want ...string) (r doctor.Report) {
	x.t.Helper()
	slices.Sort(want)
	x.t.Cleanup(func() {
		if x.t.Failed() {
			x.t.Logf("at last it did not like %q", verdicts(r))
		}
	})
	eventually(x.t, fmt.Sprintf("it does not like %q", want), func() bool {
		r, _ = x.doctor()
		return slices.Equal(want, verdicts(r))
	})
	return r
}

// serve starts the service, which makes its topics, and returns its URL.
func (x *examined) serve() (url string, service *background) {
	x.t.Helper()
	service = startProgram(x.t, x.env, "serve", "--ensure-topics")
	url = "http://" + service.stderr.find(x.t, servingAddr)
	return url, service
}

// subscribe makes the consumers' subscriptions and their dead-letter topics.
func (x *examined) subscribe() {
	x.t.Helper()
	client, err := x.at.DialPubSub(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	defer client.Close()
	for _, t := range x.needs.Topics {
		s := &pb.Subscription{Name: x.name("subscriptions", t.Subscription.Name), Topic: x.name("topics", t.Name), EnableMessageOrdering: t.Subscription.Ordered}
		if dead := t.Subscription.DeadLetterTopic; dead != "" {
			x.topic(client, dead)
			x.subscription(client, &pb.Subscription{Name: x.name("subscriptions", t.Subscription.DeadLetterSubscription), Topic: x.name("topics", dead)})
			s.DeadLetterPolicy = &pb.DeadLetterPolicy{DeadLetterTopic: x.name("topics", dead), MaxDeliveryAttempts: int32(t.Subscription.MaxDeliveryAttempts)}
		}
		x.subscription(client, s)
	}
}

func (x *examined) name(kind, id string) string {
	return "projects/" + x.at.Project + "/" + kind + "/" + id
}

func (x *examined) topic(client *pubsub.Client, id string) {
	x.t.Helper()
	if _, err := client.TopicAdminClient.CreateTopic(x.t.Context(), &pb.Topic{Name: x.name("topics", id)}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *examined) subscription(client *pubsub.Client, s *pb.Subscription) {
	x.t.Helper()
	if _, err := client.SubscriptionAdminClient.CreateSubscription(x.t.Context(), s); err != nil {
		x.t.Fatal(err)
	}
}

func (x *examined) deleteTopic(id string) {
	x.t.Helper()
	client, err := x.at.DialPubSub(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	defer client.Close()
	if err := client.TopicAdminClient.DeleteTopic(x.t.Context(), &pb.DeleteTopicRequest{Topic: x.name("topics", id)}); err != nil {
		x.t.Fatal(err)
	}
}

// text is the report for people, for the log of a test: a note quotes it.
func (x *examined) text(args ...string) {
	x.t.Helper()
	got := runProgram(x.t, x.env, "", append([]string{"doctor"}, args...)...)
	x.t.Logf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
}
