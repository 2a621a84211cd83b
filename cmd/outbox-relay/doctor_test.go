package main

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/doctor"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/thorough"
)

// A bare project lacks its topics and nothing else that an emulator can tell.
func TestE2EDoctorOnABareProject(t *testing.T) {
	x := openExamined(t)
	r, got := x.doctor()
	var want []string
	for _, topic := range x.needs.Topics {
		want = append(want, "topics fail "+topic.Name)
	}
	x.expect(r, want...)
	if got.code != shell.ExitFailed || !strings.Contains(got.stderr, "10 looks failed") {
		t.Errorf("exit code %d, %q", got.code, got.stderr)
	}
	indexes := r.Of("indexes")
	if os.Getenv(googleFirestore) != "" {
		if len(indexes) != 1 || indexes[0].Result != doctor.Skip {
			t.Errorf("Google's emulator answers every query, and yet: %+v", indexes)
		}
	} else if len(indexes) != 1 || indexes[0].Result != doctor.OK {
		t.Errorf("indexes: %+v", indexes)
	}
	x.text()
}

// The commands that it prints make a bare project complete: the program's own by
// being run, those of gcloud where that is installed.
func TestE2EDoctorOnACompleteProject(t *testing.T) {
	thorough.Long(t)
	x := openExamined(t)
	url, service := x.serve()
	x.subscribe()
	x.env["OUTBOX_RELAY_URL"], x.env["OUTBOX_RELAY_TOKEN"] = url, "dev-viewer"
	var r doctor.Report
	var got result
	eventually(t, "the service has settled down", func() bool {
		r, got = x.doctor("--strict")
		return got.code == shell.ExitOK
	})
	x.expect(r)
	for _, check := range []string{
		"access.mode", "firestore.read", "firestore.query", "firestore.count", "firestore.transaction", "firestore.listen", "firestore.write", "clock", "outboxes", "leases", "topics",
		"subscriptions", "auth.lookup", "service.ready", "service.outboxes", "service.targets", "service.refuses", "service.role", "service.lanes", "service.queue",
	} {
		if f := r.Of(check); len(f) != 1 || f[0].Result != doctor.OK {
			t.Errorf("%s: %+v, want ok", check, f)
		}
	}
	x.text("--strict")

	t.Run("a token of nobody", func(t *testing.T) {
		y := x.with(t, map[string]string{"OUTBOX_RELAY_TOKEN": "dev-nobody"})
		y.settlesOn("service.role fail")
	})
	t.Run("a paused lane", func(t *testing.T) {
		operator := map[string]string{"OUTBOX_RELAY_URL": url, "OUTBOX_RELAY_TOKEN": "dev-operator"}
		if got := runProgram(t, operator, "", "lanes", "pause", "BACKGROUND_LANE", "--reason", "a test"); got.code != shell.ExitOK {
			t.Fatal(got)
		}
		y := x.with(t, nil)
		r := y.settlesOn("service.lanes warn BACKGROUND_LANE")
		mend := shellWords(t, r.Of("service.lanes")[0].Mend[0])
		if got := runProgram(t, operator, "", mend[1:]...); got.code != shell.ExitOK {
			t.Fatalf("%q: %+v", mend, got)
		}
		y.settlesOn()
	})
	if code := service.stop(t); code != shell.ExitOK {
		t.Fatalf("exit code %d: %s", code, service.stderr)
	}
	t.Run("no service", func(t *testing.T) {
		y := x.with(t, nil)
		r, got := y.doctor()
		if f := r.Of("service.ready"); got.code != shell.ExitFailed || len(f) != 1 || f[0].Result != doctor.Fail {
			t.Errorf("exit code %d, %+v", got.code, f)
		}
	})
}

// with is the same project under other settings.
func (x *examined) with(t *testing.T, env map[string]string) *examined {
	y := *x
	y.t, y.env = t, maps.Clone(x.env)
	maps.Copy(y.env, env)
	return &y
}

// Each piece taken away is told, and nothing else.
func TestE2EDoctorWithPiecesTakenAway(t *testing.T) {
	thorough.Long(t)
	x := openExamined(t)
	_, service := x.serve()
	service.stop(t)
	x.subscribe()
	if r, got := x.doctor("--strict"); got.code != shell.ExitOK {
		t.Fatalf("the whole: %q, exit code %d", verdicts(r), got.code)
	}
	signed := map[string]string{
		"AUTH_MODE": "iap", "AUTH_AUDIENCE": "/projects/123456789/locations/europe-west1/services/outbox-relay",
		"ROLES_FILE": rolesFile(t, "roles: {viewer: [carol@example.com], operator: [alice@example.com], security: [bob@example.com, dora@example.com]}"),
	}
	for _, tc := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"none", signed, nil},
		{"the audience", with2(signed, "AUTH_AUDIENCE", "https://relay.example.com"), []string{"access.audience fail https://relay.example.com"}},
		{"the roles file", with2(signed, "ROLES_FILE", rolesFile(t, "roles: {operator: [alice]}")), []string{"access.roles fail"}},
		{"whoever may authorize", with2(signed, "ROLES_FILE", rolesFile(t, "roles: {operator: [alice@example.com]}")), []string{"access.roles fail"}},
		{"the project", map[string]string{"GOOGLE_CLOUD_PROJECT": ""}, []string{"settings.project fail"}},
		{"Firestore", map[string]string{gcp.EnvFirestore: nobodyListens(t)}, []string{"firestore.read fail"}},
		{"Pub/Sub", map[string]string{gcp.EnvPubSub: nobodyListens(t)}, []string{"pubsub fail"}},
		{"Auth", map[string]string{gcp.EnvAuth: nobodyListens(t)}, []string{"auth.lookup fail"}},
		{"the catalog", map[string]string{"CATALOG": "/nonexistent.yaml"}, []string{"catalog fail"}},
		{"the stop budget", map[string]string{"STOP_BUDGET": "10s"}, []string{"settings.stop warn"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := x.with(t, tc.env)
			r, got := y.doctor()
			y.expect(r, tc.want...)
			want := shell.ExitOK
			if slices.ContainsFunc(tc.want, func(w string) bool { return strings.Contains(w, " fail") }) {
				want = shell.ExitFailed
			}
			if got.code != want {
				t.Errorf("exit code %d, want %d", got.code, want)
			}
		})
	}
	t.Run("a topic", func(t *testing.T) {
		x.deleteTopic("ier-notif-router")
		y := x.with(t, nil)
		r, _ := y.doctor()
		y.expect(r, "topics fail ier-notif-router", "subscriptions warn ier-notif-router-consumer")
		if os.Getenv(googlePubSub) == "" {
			return
		}
		// Mended by the commands themselves, in their order: the topic by the
		// service, its subscription by gcloud.
		_, service := y.serve()
		service.stop(t)
		r, _ = y.doctor()
		y.expect(r, "subscriptions warn ier-notif-router", "subscriptions warn ier-notif-router-consumer")
		if _, err := exec.LookPath("gcloud"); err != nil {
			t.Skip("gcloud is not installed")
		}
		for _, line := range mends(r, "subscriptions") {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Env = append(os.Environ(), "CLOUDSDK_CONFIG="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err != nil && !strings.Contains(string(out), "already exists") { // the dead-letter topic outlived it
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
		r, got := y.doctor("--strict")
		y.expect(r)
		if got.code != shell.ExitOK {
			t.Errorf("exit code %d", got.code)
		}
	})
}

// mends are the commands of a check, in their order.
func mends(r doctor.Report, check string) []string {
	var out []string
	for _, f := range r.Of(check) {
		out = append(out, f.Mend...)
	}
	return out
}

func rolesFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "roles.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func with2(env map[string]string, name, value string) map[string]string {
	out := maps.Clone(env)
	out[name] = value
	return out
}

// nobodyListens is an address on which nobody does.
func nobodyListens(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

func TestDoctorExitCodes(t *testing.T) {
	settings := map[string]string{"GOOGLE_CLOUD_PROJECT": "p"} // nobody may use its admin API: to be heeded
	for _, tc := range []struct {
		name string
		env  map[string]string
		args []string
		want int
	}{
		{"to be heeded", settings, nil, shell.ExitOK},
		{"to be heeded, strictly", settings, []string{"--strict"}, shell.ExitHeed},
		{"fine, strictly", with2(with2(settings, "AUTH_MODE", "dev"), "HOST", "127.0.0.1"), []string{"--strict"}, shell.ExitOK},
		{"failed", nil, nil, shell.ExitFailed},
		{"failed, strictly", nil, []string{"--strict"}, shell.ExitFailed},
		{"wrong flags", settings, []string{"--timeout", "0s"}, shell.ExitUsage},
		{"wrong flags of serve", settings, []string{"--port", "70000"}, shell.ExitUsage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := runProgram(t, tc.env, "", append([]string{"doctor", "--offline"}, tc.args...)...); got.code != tc.want {
				t.Errorf("exit code %d, want %d: %+v", got.code, tc.want, got)
			}
		})
	}
}
