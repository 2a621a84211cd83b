package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cloud.google.com/go/firestore"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/contracts/outbox"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/relay/workqueue/jobs"
)

// office is a service that runs both work queues, with a producer beside it.
type office struct {
	t    *testing.T
	db   *firestore.Client
	env  map[string]string
	args []string
	addr string
	proc *child
}

const officeTemplates = `
templates:
  matter-created:
    title: New matter {{.event.payload.name}}
    body: "{{.event.actor}} has created it, {{.recipientId}}."
`

// openOffice starts the real program on a cloud, with the default catalog and a template.
func openOffice(t *testing.T, at gcp.Place, env map[string]string) *office {
	t.Helper()
	var text strings.Builder
	if err := testCatalog(t).Print(&text); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(file, []byte(text.String()+officeTemplates), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, db: mustDialFirestore(t, at).Client, env: env}
	o.args = append([]string{}, serveArgs...)
	for n, arg := range o.args {
		if arg == "--stand-in" { // testCatalog has it applied, so that the printed one has no handler
			o.args = append(o.args[:n], o.args[n+2:]...)
			break
		}
	}
	o.args = append(o.args, "--catalog", file, "--auth-mode", "dev", "--queues", "jobs,notifications", "--jobs-topic", "job-messages")
	o.start()
	return o
}

func (o *office) start(more ...string) {
	o.t.Helper()
	o.proc = startChild(o.t, o.env, append(o.args, more...)...)
	o.addr = o.proc.stderr.find(o.t, servingAddr)
}

// emit emits that a matter was created, with a job, and returns the job's path.
func (o *office) emit(matter, channel, template string) string {
	o.t.Helper()
	var key string
	err := o.db.RunTransaction(o.t.Context(), func(ctx context.Context, tx *firestore.Transaction) error {
		done, err := outbox.Emit(ctx, o.db, tx, outbox.DomainEvent{
			Type: "matter.created", OrgID: "org-1", EntityType: "matter", EntityID: matter, Actor: "ana", Payload: map[string]any{"name": "Smith"},
		}, outbox.Job{RecipientID: "bob", Channel: channel, TemplateID: template})
		if err == nil {
			key = done.Jobs[0].Key
		}
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return outbox.Jobs + "/" + key
}

func (o *office) fields(path string) map[string]any {
	o.t.Helper()
	snap, err := o.db.Doc(path).Get(o.t.Context())
	if snap == nil || !snap.Exists() {
		return nil
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return snap.Data()
}

func (o *office) set(path string, fields map[string]any) {
	o.t.Helper()
	if _, err := o.db.Doc(path).Set(o.t.Context(), fields); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) untilStatus(path, want string) map[string]any {
	o.t.Helper()
	var fields map[string]any
	eventually(o.t, path+" is "+want, func() bool { fields = o.fields(path); return fields["status"] == want })
	return fields
}

// queue runs a queue command as one of the dev identities.
func (o *office) queue(who string, args ...string) result {
	o.t.Helper()
	env := map[string]string{"OUTBOX_RELAY_TOKEN": "dev-" + who}
	return runProgram(o.t, env, "", append([]string{"queue", args[0], "--url", "http://" + o.addr}, args[1:]...)...)
}

// ask asks the admin API.
func (o *office) ask(who, method, path, body string, into any) int {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), method, "http://"+o.addr+"/admin/v1"+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer dev-"+who)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	if into != nil && resp.StatusCode == http.StatusOK {
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			o.t.Fatal(err)
		}
	}
	return resp.StatusCode
}

// TestE2EQueues starts the real program with both queues: bells fill, jobs are sent, what fails is requeued by the API and by the
// command, and the audit tells of it.
func TestE2EQueues(t *testing.T) {
	thorough.EndToEnd(t)
	at, env := anyCloud(t)
	o := openOffice(t, at, env)
	o.bellsFill()
	o.jobsAreSent()
	o.requeued()
	o.commands()
	o.looks()
	o.proc.signal(t, syscall.SIGTERM)
	if code := o.proc.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d:\n%s", code, o.proc.stderr)
	}
}

const condo = "clients/acme/condominiums/palms"

// event appends a notification's event, and returns its path.
func (o *office) event(id string, change map[string]any) string {
	fields := map[string]any{
		"eventType": "maintenance.ticket_created", "module": "maintenance", "priority": "medium", "title": "Fuga", "body": "Se registró",
		"dedupeKey": "ticket:" + id, "channels": []any{"in_app"}, "audience": map[string]any{"scope": "admins_and_assistants", "userIds": []any{}},
		"entityId": id, "entityType": "ticket", "metadata": map[string]any{}, "createdAt": firestore.ServerTimestamp, "createdBy": "uid", "createdByName": "N",
		"status": "pending_dispatch", "clientId": "acme", "condominiumId": "palms",
	}
	maps.Copy(fields, change)
	path := condo + "/notificationEvents/" + id
	o.set(path, fields)
	return path
}

func (o *office) bellsFill() {
	for user, role := range map[string]string{"ana": "admin", "ben": "admin-assistant", "cy": "resident"} {
		o.set(condo+"/users/"+user, map[string]any{"role": role, "active": true})
	}
	for n := range 5 {
		o.untilStatus(o.event(fmt.Sprintf("event-%d", n), nil), "emitted")
	}
	for user, want := range map[string]int{"ana": 5, "ben": 5, "cy": 0} {
		docs, err := o.db.Collection(condo + "/users/" + user + "/notifications").Documents(o.t.Context()).GetAll()
		if err != nil || len(docs) != want {
			o.t.Errorf("the bell of %s has %d, %v, want %d", user, len(docs), err, want)
		}
	}
}

func (o *office) jobsAreSent() {
	path := o.emit("m-1", "in_app", "matter-created")
	o.untilStatus(path, "sent")
	message := o.fields(jobs.InAppMessages + "/" + strings.TrimPrefix(path, outbox.Jobs+"/"))
	if message["title"] != "New matter Smith" || message["body"] != "ana has created it, bob." {
		o.t.Errorf("the message is %v", message)
	}
	o.untilStatus(o.emit("m-1", "pubsub", "matter-created"), "sent")
}

// requeued: over the API.
func (o *office) requeued() {
	path := o.event("wrong", map[string]any{"clientId": "another"})
	o.untilStatus(path, "failed")
	o.set(path, func() map[string]any { f := o.fields(path); f["clientId"] = "acme"; return f }())
	target := "/queues/notifications/items/" + url.PathEscape(path)
	var item adminapi.QueueItem
	if got := o.ask("operator", http.MethodGet, target, "", &item); got != http.StatusOK || item.Status != "failed" || item.LastErrorCode != "INVALID_EVENT" || !item.Requeue.Allowed {
		o.t.Fatalf("got %d, %+v", got, item)
	}
	if got := o.ask("viewer", http.MethodPost, target+"/requeue", `{"reason":"x"}`, nil); got != http.StatusForbidden {
		o.t.Errorf("a viewer gets %d", got)
	}
	if got := o.ask("operator", http.MethodPost, target+"/requeue", `{"reason":"the client is right now"}`, nil); got != http.StatusOK {
		o.t.Fatalf("a requeue gets %d", got)
	}
	o.untilStatus(path, "emitted")
	if o.fields(condo+"/users/ana/notifications/wrong") == nil || o.fields(condo+"/notificationDeadLetters/wrong") == nil {
		o.t.Error("the bell lacks it, or its dead letter is gone")
	}
	if got := o.ask("operator", http.MethodPost, target+"/requeue", `{"reason":"again"}`, nil); got != http.StatusConflict {
		o.t.Errorf("a requeue of what is emitted gets %d", got)
	}
	if got := o.ask("viewer", http.MethodGet, target, "", &item); got != http.StatusOK || len(item.Decisions) != 1 || item.Decisions[0].Reason != "the client is right now" {
		o.t.Errorf("got %d, decisions %+v", got, item.Decisions)
	}
}

// stray creates a document that no queue knows for its own, and returns its path.
func (o *office) stray(status string) string {
	o.set("outbox/stray", map[string]any{"status": status, "orgId": "org-1", "createdAt": firestore.ServerTimestamp})
	return "outbox/stray"
}

// commands: an email without a server is dead; requeued by the command it is so again.
func (o *office) commands() {
	t := o.t
	path := o.emit("m-2", "email", "matter-created")
	o.untilStatus(path, "dead")
	for _, tc := range []struct {
		name, who string
		args      []string
		code      int
		want      []string
	}{
		{"list queues", "viewer", []string{"list"}, shell.ExitOK, []string{"jobs", "notifications", "1 dead", "runs, "}},
		{"list documents", "viewer", []string{"list", "jobs", "--status", "dead", "--tenant", "org-1"}, shell.ExitOK, []string{path, "UNKNOWN_CHANNEL"}},
		{"list none", "viewer", []string{"list", "jobs", "--tenant", "nobody"}, shell.ExitOK, []string{"no documents"}},
		{"list a status that there is not", "viewer", []string{"list", "jobs", "--status", "weather"}, shell.ExitOK, []string{o.stray("weather")}},
		{"list of no queue", "viewer", []string{"list", "weather"}, shell.ExitUsage, []string{"is none of jobs, notifications"}},
		{"list all by status", "viewer", []string{"list", "--status", "dead"}, shell.ExitUsage, []string{"need a queue"}},
		{"show", "operator", []string{"show", "jobs", path}, shell.ExitOK, []string{"UNKNOWN_CHANNEL", "it is dead", "outbox-relay queue requeue --url http://" + o.addr + " jobs '" + path + "'"}},
		{"show by a viewer", "viewer", []string{"show", "jobs", path, "--document"}, shell.ExitOK, []string{"cannot be requeued: ", `"templateId": "matter-created"`}},
		{"show none", "viewer", []string{"show", "jobs", "outbox/none"}, shell.ExitNotFound, nil},
		{"requeue by a viewer", "viewer", []string{"requeue", "jobs", path, "--reason", "x"}, shell.ExitNotAllowed, []string{"role operator"}},
		{"requeue without a reason", "operator", []string{"requeue", "jobs", path}, shell.ExitUsage, []string{"--reason"}},
		{"requeue", "operator", []string{"requeue", "jobs", path, "--reason", "there is a server now"}, shell.ExitOK, []string{"is pending again"}},
		{"requeue of a sent one", "operator", []string{"requeue", "jobs", o.emit("m-1", "in_app", "matter-created"), "--reason", "x"}, shell.ExitConflict, []string{"sent already"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := o.queue(tc.who, tc.args...)
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d; %+v", got.code, tc.code, got)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.stdout+got.stderr, want) && !strings.Contains(got.stdout+got.stderr, strings.ReplaceAll(want, "'", "")) {
					t.Errorf("%q is in neither output: %+v", want, got)
				}
			}
		})
	}
	o.untilStatus(path, "dead")
	audit := runProgram(t, map[string]string{"OUTBOX_RELAY_TOKEN": "dev-viewer"}, "", "dlq", "audit", "--url", "http://"+o.addr, "--subject", "queue_item")
	for _, want := range []string{"there is a server now", "the client is right now", "dev-operator", "requeue"} {
		if !strings.Contains(audit.stdout, want) {
			t.Errorf("the audit does not tell %q: %+v", want, audit)
		}
	}
}

// looks: health and metrics.
func (o *office) looks() {
	eventually(o.t, "both queues are healthy", func() bool {
		_, body := fetch(o.t, o.addr, "/readyz")
		var state struct {
			Queues []queueState `json:"queues"`
		}
		return json.Unmarshal([]byte(body), &state) == nil && len(state.Queues) == 2 && state.Queues[0].Healthy && state.Queues[1].Healthy && state.Queues[1].Listener == "alive"
	})
	_, metrics := fetch(o.t, o.addr, "/metrics")
	for _, want := range []string{`workqueue_outcomes_total{outcome="sent",queue="jobs"} 2`, "notifications_written_total 12", `workqueue_outcomes_total{outcome="dead",queue="jobs"} 2`} {
		if !strings.Contains(metrics, want) {
			o.t.Errorf("the metrics lack %q", want)
		}
	}
}

func TestQueueFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`there is no queue "weather"`:        {"--queues", "jobs,weather"},
		"--smtp-from is needed":              {"--smtp-host", "mail.example.com"},
		"is no address":                      {"--smtp-host", "mail.example.com", "--smtp-from", "nobody"},
		"in the clear":                       {"--smtp-host", "mail.example.com", "--smtp-from", "a@b.example", "--smtp-user", "u", "--smtp-tls", "none"},
		"--smtp-host is needed":              {"--smtp-from", "a@b.example"},
		"--smtp-user is needed":              {"--smtp-password", "x"},
		"--smtp-port is 0":                   {"--smtp-port", "0"},
		"give one of them":                   {"--smtp-user", "u", "--smtp-host", "h", "--smtp-from", "a@b.example", "--smtp-password", "x", "--smtp-password-file", "y"},
		"--jobs-topic: topic of jobs":        {"--jobs-topic", "x"},
		"NOTIFICATION_MAX_RETRIES is \"-1\"": {"--queues", "notifications"},
		"read SMTP password":                 {"--smtp-user", "u", "--smtp-host", "h", "--smtp-from", "a@b.example", "--smtp-password-file", "/nowhere/at/all"},
	} {
		env := map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "NOTIFICATION_MAX_RETRIES": "-1"}
		if !strings.HasPrefix(want, "NOTIFICATION") {
			delete(env, "NOTIFICATION_MAX_RETRIES")
		}
		got := runProgram(t, env, "", append([]string{"serve"}, args...)...)
		if got.code != shell.ExitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: exit code %d with %q, want %q", args, got.code, got.stderr, want)
		}
	}
}

func TestQueuesHaveTheirCollectionsToThemselves(t *testing.T) {
	catalog := testCatalog(t)
	got := runProgram(t, map[string]string{
		"GOOGLE_CLOUD_PROJECT": "p", gcp.EnvFirestore: "127.0.0.1:1", gcp.EnvPubSub: "127.0.0.1:1", gcp.EnvAuth: "127.0.0.1:1",
	}, "", "serve", "--port", "0", "--queues", "jobs", "--catalog", catalogFile(t, func(c *contracts.Catalog) { c.Outboxes[0].Name = outbox.Jobs }))
	if got.code != shell.ExitUsage || !strings.Contains(got.stderr, "queue jobs: collection outbox is its own") {
		t.Errorf("serve: exit code %d with %q", got.code, got.stderr)
	}
	both := []string{queueJobs, queueNotifications}
	if err := ownDocuments(both, catalog); err != nil {
		t.Errorf("the default catalog: %v", err)
	}
	for queue, collections := range queueCollections {
		for _, name := range collections {
			catalog.Outboxes[0].Name = name
			if err := ownDocuments(both, catalog); err == nil || !strings.Contains(err.Error(), "queue "+queue+": collection "+name) {
				t.Errorf("outbox %s: %v", name, err)
			}
			if err := ownDocuments(slices.DeleteFunc(slices.Clone(both), func(q string) bool { return q == queue }), catalog); err != nil {
				t.Errorf("outbox %s without queue %s: %v", name, queue, err)
			}
		}
	}
}
