package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"outboxrelay/cmd/outbox-relay/program"
	"outboxrelay/cmd/outbox-relay/shell"
)

// manifest is what the test looks at of the Cloud Run service.
type manifest struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct {
		Template struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct {
				TimeoutSeconds int `yaml:"timeoutSeconds"`
				Containers     []manifestContainer
				Volumes        []struct {
					Name   string
					Secret struct {
						Items []struct{ Path string }
					}
				}
			}
		}
	}
}

type manifestContainer struct {
	Name  string
	Ports []struct {
		ContainerPort int `yaml:"containerPort"`
	}
	Env          []struct{ Name, Value string }
	Resources    struct{ Limits map[string]string }
	Startup      manifestProbe `yaml:"startupProbe"`
	Liveness     manifestProbe `yaml:"livenessProbe"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type manifestProbe struct {
	HTTPGet struct {
		Path string
		Port int
	} `yaml:"httpGet"`
	Period    int `yaml:"periodSeconds"`
	Timeout   int `yaml:"timeoutSeconds"`
	Threshold int `yaml:"failureThreshold"`
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	text, err := os.ReadFile("../../deploy/cloudrun/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// relay is the container of the relay.
func (m manifest) relay(t *testing.T) manifestContainer {
	t.Helper()
	all := m.Spec.Template.Spec.Containers
	at := slices.IndexFunc(all, func(c manifestContainer) bool { return c.Name == "relay" })
	if at < 0 {
		t.Fatal("there is no container relay")
	}
	return all[at]
}

func (c manifestContainer) env() map[string]string {
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	return env
}

// knownVariables are those of serve's flags, and the Go runtime's.
func knownVariables(t *testing.T) []string {
	t.Helper()
	parser, err := kong.New(&serveCmd{}, tuningDefaults())
	if err != nil {
		t.Fatal(err)
	}
	known := []string{program.EnvMemoryLimit, program.EnvProcessors}
	for _, flag := range parser.Model.Flags {
		known = append(known, flag.Envs...)
	}
	return known
}

func TestManifestSetsWhatTheBinaryKnows(t *testing.T) {
	c := readManifest(t).relay(t)
	known := knownVariables(t)
	for name := range c.env() {
		if !slices.Contains(known, name) {
			t.Errorf("%s is no variable of serve's; those are %q", name, known)
		}
	}
	var stdout, stderr bytes.Buffer
	parsed, err := parse([]string{"serve"}, shell.LookupIn(c.env()), &stdout, &stderr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := parsed.(*serveCmd)
	if cmd.StopBudget >= 10*time.Second {
		t.Errorf("STOP_BUDGET is %v; Cloud Run kills 10 s after SIGTERM", cmd.StopBudget)
	}
	if port := strconv.Itoa(c.Ports[0].ContainerPort); port != "8080" {
		t.Errorf("port %s: the image exposes 8080", port)
	}
}

// Probes ask for pages that are there, and for nothing that Firestore decides.
func TestManifestProbes(t *testing.T) {
	m := readManifest(t)
	c := m.relay(t)
	served := servicePages(func() (any, bool) { return nil, false }, prometheus.NewRegistry())
	for name, p := range map[string]manifestProbe{"startup": c.Startup, "liveness": c.Liveness} {
		if got := get(t, served, "GET", p.HTTPGet.Path).StatusCode; got != 200 {
			t.Errorf("%s: %s = %d of a relay that waits for Firestore, want 200", name, p.HTTPGet.Path, got)
		}
		if p.HTTPGet.Port != c.Ports[0].ContainerPort {
			t.Errorf("%s asks port %d, the relay is on %d", name, p.HTTPGet.Port, c.Ports[0].ContainerPort)
		}
		if p.Timeout < 1 || p.Timeout > p.Period {
			t.Errorf("%s: timeout %d s, period %d s", name, p.Timeout, p.Period)
		}
	}
	if total := time.Duration(c.Startup.Period*c.Startup.Threshold) * time.Second; total <= ensureTopicsWithin || total > 240*time.Second {
		t.Errorf("the start may take %v; want more than the %v of a look at the topics, and at most Cloud Run's 240 s", total, ensureTopicsWithin)
	}
	if total := c.Liveness.Period * c.Liveness.Threshold; total < 60 {
		t.Errorf("killed after %d s without an answer; a starved machine may take that long", total)
	}
}

func TestManifestResources(t *testing.T) {
	m := readManifest(t)
	c := m.relay(t)
	memory, limit := mebibytes(t, c.Resources.Limits["memory"], "Mi"), mebibytes(t, c.env()[program.EnvMemoryLimit], "MiB")
	if want := int(program.HeapShare * float64(memory)); limit != want {
		t.Errorf("GOMEMLIMIT is %d MiB, want nine tenths of %d MiB: %d", limit, memory, want)
	}
	want := map[string]string{
		"autoscaling.knative.dev/minScale": "1", "autoscaling.knative.dev/maxScale": "3", "run.googleapis.com/cpu-throttling": "false",
		"run.googleapis.com/execution-environment": "gen2", "run.googleapis.com/startup-cpu-boost": "true",
	}
	for name, value := range want {
		if got := m.Spec.Template.Metadata.Annotations[name]; got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if m.Spec.Template.Spec.TimeoutSeconds != 3600 {
		t.Errorf("requests end after %d s: the console's streams want the 3600 s that Cloud Run allows", m.Spec.Template.Spec.TimeoutSeconds)
	}
}

var size = regexp.MustCompile(`^(\d+)(\w+)$`)

func mebibytes(t *testing.T, text, unit string) int {
	t.Helper()
	m := size.FindStringSubmatch(text)
	if m == nil || m[2] != unit {
		t.Fatalf("%q is not in %s", text, unit)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The files that variables name are mounted.
func TestManifestMountsTheRolesFile(t *testing.T) {
	m := readManifest(t)
	c := m.relay(t)
	var files []string
	for _, mount := range c.VolumeMounts {
		for _, volume := range m.Spec.Template.Spec.Volumes {
			for _, item := range volume.Secret.Items {
				if volume.Name == mount.Name {
					files = append(files, mount.MountPath+"/"+item.Path)
				}
			}
		}
	}
	if want := c.env()["ROLES_FILE"]; !slices.Contains(files, want) {
		t.Errorf("ROLES_FILE is %s, mounted are %q", want, files)
	}
}
