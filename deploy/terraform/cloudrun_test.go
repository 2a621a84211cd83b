package terraform_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"go.yaml.in/yaml/v3"
)

// knative is what deploy/cloudrun/service.yaml holds of interest.
type knative struct {
	Metadata struct {
		Name        string            `yaml:"name"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Spec struct {
		Template struct {
			Metadata struct {
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"metadata"`
			Spec struct {
				ServiceAccountName   string      `yaml:"serviceAccountName"`
				ContainerConcurrency int         `yaml:"containerConcurrency"`
				TimeoutSeconds       int         `yaml:"timeoutSeconds"`
				Containers           []container `yaml:"containers"`
				Volumes              []volume    `yaml:"volumes"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type container struct {
	Name  string `yaml:"name"`
	Image string `yaml:"image"`
	Ports []struct {
		ContainerPort int `yaml:"containerPort"`
	} `yaml:"ports"`
	Env []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	Resources struct {
		Limits map[string]string `yaml:"limits"`
	} `yaml:"resources"`
	StartupProbe  *probe `yaml:"startupProbe"`
	LivenessProbe *probe `yaml:"livenessProbe"`
	VolumeMounts  []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port int    `yaml:"port"`
	} `yaml:"httpGet"`
	InitialDelaySeconds int `yaml:"initialDelaySeconds"`
	PeriodSeconds       int `yaml:"periodSeconds"`
	TimeoutSeconds      int `yaml:"timeoutSeconds"`
	FailureThreshold    int `yaml:"failureThreshold"`
}

type volume struct {
	Name   string `yaml:"name"`
	Secret struct {
		SecretName string `yaml:"secretName"`
		Items      []struct {
			Path string `yaml:"path"`
		} `yaml:"items"`
	} `yaml:"secret"`
}

// TestServiceIsThatOfTheManifest: Terraform makes the service that
// deploy/cloudrun/service.yaml describes for gcloud. What differs on purpose is
// added here: the manifest stands for the default database, and mounts the latest
// version of a file.
func TestServiceIsThatOfTheManifest(t *testing.T) {
	data, err := os.ReadFile("../cloudrun/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var manifest knative
	if err := yaml.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	service := load(t).plan(t, given(t, nil)).Variables["google_cloud_run_v2_service"].GetAttr("relay")
	if diff := cmp.Diff(fromManifest(manifest), fromPlan(t, service)); diff != "" {
		t.Errorf("service (-service.yaml +cloudrun.tf):\n%s", diff)
	}
}

// fromManifest is the service of the manifest as lines that can be compared.
func fromManifest(m knative) map[string]string {
	template := m.Spec.Template
	out := map[string]string{
		"name": m.Metadata.Name, "iap": m.Metadata.Annotations["run.googleapis.com/iap-enabled"],
		"ingress":      "INGRESS_TRAFFIC_" + strings.ToUpper(m.Metadata.Annotations["run.googleapis.com/ingress"]),
		"environment":  "EXECUTION_ENVIRONMENT_" + strings.ToUpper(template.Metadata.Annotations["run.googleapis.com/execution-environment"]),
		"least":        template.Metadata.Annotations["autoscaling.knative.dev/minScale"],
		"most":         template.Metadata.Annotations["autoscaling.knative.dev/maxScale"],
		"boost":        template.Metadata.Annotations["run.googleapis.com/startup-cpu-boost"],
		"dependencies": template.Metadata.Annotations["run.googleapis.com/container-dependencies"],
		"concurrency":  fmt.Sprint(template.Spec.ContainerConcurrency),
		"timeout":      fmt.Sprintf("%ds", template.Spec.TimeoutSeconds),
		"account":      strings.Replace(template.Spec.ServiceAccountName, "@my-project.iam.gserviceaccount.com", "", 1),
	}
	for _, c := range template.Spec.Containers {
		out[c.Name+" throttled"] = template.Metadata.Annotations["run.googleapis.com/cpu-throttling"]
		out[c.Name+" cpu"], out[c.Name+" memory"] = c.Resources.Limits["cpu"], c.Resources.Limits["memory"]
		for _, p := range c.Ports {
			out[c.Name+" port"] = fmt.Sprint(p.ContainerPort)
		}
		for _, e := range c.Env {
			out[c.Name+" "+e.Name] = strings.ReplaceAll(e.Value, "PROJECT_NUMBER", "123456789012")
		}
		for name, p := range map[string]*probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe} {
			if p != nil {
				out[c.Name+" "+name] = fmt.Sprint(p.HTTPGet.Path, p.HTTPGet.Port, p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold)
			}
		}
		for _, v := range c.VolumeMounts {
			out[c.Name+" mount "+v.Name] = v.MountPath
		}
		if c.Name != "relay" {
			out[c.Name+" image"] = c.Image
		}
	}
	for _, v := range template.Spec.Volumes {
		out["volume "+v.Name] = v.Secret.SecretName + " " + v.Secret.Items[0].Path
	}
	out["relay FIRESTORE_DATABASE"] = "(default)"
	return out
}

// fromPlan is the planned service as the same lines.
func fromPlan(t *testing.T, service cty.Value) map[string]string {
	t.Helper()
	text := func(of cty.Value, path ...any) string {
		value, err := convert.Convert(at(t, of, path...), cty.String)
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		return value.AsString()
	}
	template := at(t, service, "template", 0)
	out := map[string]string{
		"name": text(service, "name"), "iap": text(service, "iap_enabled"), "ingress": text(service, "ingress"),
		"environment": text(template, "execution_environment"), "timeout": text(template, "timeout"),
		"least": text(template, "scaling", 0, "min_instance_count"), "most": text(template, "scaling", 0, "max_instance_count"),
		"concurrency": text(template, "max_instance_request_concurrency"), "account": "outbox-relay",
	}
	for it := at(t, template, "containers").ElementIterator(); it.Next(); {
		_, c := it.Element()
		name := text(c, "name")
		out[name+" throttled"] = text(c, "resources", 0, "cpu_idle")
		out[name+" cpu"], out[name+" memory"] = text(c, "resources", 0, "limits", "cpu"), text(c, "resources", 0, "limits", "memory")
		each := func(block string, of func(b cty.Value)) {
			if c.Type().HasAttribute(block) {
				for it := c.GetAttr(block).ElementIterator(); it.Next(); {
					_, b := it.Element()
					of(b)
				}
			}
		}
		each("ports", func(b cty.Value) { out[name+" port"] = text(b, "container_port") })
		each("env", func(b cty.Value) { out[name+" "+text(b, "name")] = text(b, "value") })
		each("volume_mounts", func(b cty.Value) { out[name+" mount "+text(b, "name")] = text(b, "mount_path") })
		for _, probe := range []string{"startup", "liveness"} {
			each(probe+"_probe", func(b cty.Value) {
				out[name+" "+probe] = text(b, "http_get", 0, "path") + strings.Join([]string{
					text(b, "http_get", 0, "port"), text(b, "initial_delay_seconds"), text(b, "period_seconds"), text(b, "timeout_seconds"), text(b, "failure_threshold"),
				}, " ")
			})
		}
		if name == "relay" {
			out["boost"] = text(c, "resources", 0, "startup_cpu_boost")
			continue
		}
		out[name+" image"] = text(c, "image")
		out["dependencies"] = fmt.Sprintf(`{%q:[%q]}`, name, text(c, "depends_on", 0))
	}
	for it := at(t, template, "volumes").ElementIterator(); it.Next(); {
		_, v := it.Element()
		// The secret's own name is made of the service's.
		out["volume "+text(v, "name")] = "outbox-relay-" + text(v, "name") + " " + text(v, "secret", 0, "items", 0, "path")
	}
	return out
}

// TestStopFitsIntoCloudRuns: the relay is done before Cloud Run kills it.
func TestStopFitsIntoCloudRuns(t *testing.T) {
	environment := local[map[string]string](t, load(t).evaluator(t, given(t, nil)), "environment")
	budget, err := time.ParseDuration(environment["STOP_BUDGET"])
	if err != nil || budget <= 0 || budget >= 10*time.Second {
		t.Errorf("STOP_BUDGET is %v (%v), want less than the ten seconds of Cloud Run", budget, err)
	}
}

// TestServiceWaitsForWhatItNeeds: without an edge Terraform makes the service before
// them, and the first revision does not start.
func TestServiceWaitsForWhatItNeeds(t *testing.T) {
	service := load(t).resources["resource google_cloud_run_v2_service relay"]
	var got []string
	for _, traversal := range hclsyntax.Variables(service.Body.Attributes["depends_on"].Expr) {
		name, _ := step(traversal, 1)
		got = append(got, traversal.RootName()+"."+name)
	}
	for _, want := range []string{
		"terraform_data.push", "google_firestore_database.relay", "google_firestore_index.relay", "google_firestore_field.relay",
		"google_project_iam_member.firestore", "google_project_iam_member.project", "google_pubsub_topic_iam_member.publish",
		"google_secret_manager_secret_iam_member.reads", "google_project_service_identity.iap",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("the service does not wait for %s", want)
		}
	}
}

// TestCollectorScrapesTheRelay, on the port and path that it serves metrics on.
func TestCollectorScrapesTheRelay(t *testing.T) {
	var monitoring struct {
		Kind string `yaml:"kind"`
		Spec struct {
			Endpoints []struct {
				Port int    `yaml:"port"`
				Path string `yaml:"path"`
			} `yaml:"endpoints"`
		} `yaml:"spec"`
	}
	data, err := os.ReadFile("runmonitoring.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &monitoring); err != nil {
		t.Fatal(err)
	}
	endpoints := monitoring.Spec.Endpoints
	if monitoring.Kind != "RunMonitoring" || len(endpoints) != 1 || endpoints[0].Port != 8080 || endpoints[0].Path != "/metrics" {
		t.Errorf("the collector reads %+v, want one endpoint, port 8080, /metrics", monitoring)
	}
}
