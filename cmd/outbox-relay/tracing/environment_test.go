package tracing

import (
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/shell"
)

func TestTracesFromEnvironment(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, tc := range map[string]struct {
		env                         map[string]string
		endpoint, protocol, sampler string // "": traces are off
		google                      bool
	}{
		"nothing":                   {env: map[string]string{"OTEL_TRACES_SAMPLER": "always_on", "OTEL_SERVICE_NAME": "relay"}},
		"disabled":                  {env: map[string]string{endpoint: "http://c:4317", "OTEL_SDK_DISABLED": "TRUE"}},
		"another exporter for none": {env: map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_EXPORTER": "none"}},
		"an endpoint": {
			env:      map[string]string{endpoint: "http://c:4317"},
			endpoint: "http://c:4317", protocol: "grpc", sampler: "ParentBased{root:TraceIDRatioBased{0.01}",
		},
		"an endpoint of traces wins": {
			env:      map[string]string{endpoint: "http://c:4317", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://d:4317"},
			endpoint: "https://d:4317", protocol: "grpc", sampler: "ParentBased{root:TraceIDRatioBased{0.01}",
		},
		"http": {
			env:      map[string]string{endpoint: "http://c:4318/base/", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
			endpoint: "http://c:4318/base/v1/traces", protocol: "http/protobuf", sampler: "ParentBased{root:TraceIDRatioBased{0.01}",
		},
		"http, an endpoint of traces": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/mine", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
				"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
			},
			endpoint: "http://c:4318/mine", protocol: "http/protobuf", sampler: "ParentBased{root:TraceIDRatioBased{0.01}",
		},
		"a ratio": {
			env:      map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_SAMPLER_ARG": "0.25"},
			endpoint: "http://c:4317", protocol: "grpc", sampler: "ParentBased{root:TraceIDRatioBased{0.25}",
		},
		"a sampler that heeds no parent": {
			env:      map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"},
			endpoint: "http://c:4317", protocol: "grpc", sampler: "TraceIDRatioBased{0.5}",
		},
		"a ratio that is not given": {
			env:      map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_SAMPLER": "traceidratio"},
			endpoint: "http://c:4317", protocol: "grpc", sampler: "TraceIDRatioBased{1}",
		},
		"Google's": {
			env:      map[string]string{endpoint: "https://telemetry.googleapis.com", "OTEL_TRACES_SAMPLER": "parentbased_always_off"},
			endpoint: "https://telemetry.googleapis.com", protocol: "grpc", sampler: "ParentBased{root:AlwaysOffSampler", google: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FromEnv(shell.LookupIn(tc.env))
			if err != nil {
				t.Fatal(err)
			}
			if tc.endpoint == "" {
				if got != nil {
					t.Fatalf("traces are on: %+v", got)
				}
				return
			}
			if got == nil {
				t.Fatal("traces are off")
			}
			if got.endpoint.String() != tc.endpoint || got.protocol != tc.protocol || got.onGoogle() != tc.google || !strings.HasPrefix(got.sampler.Description(), tc.sampler) {
				t.Errorf("got %s, %s, Google's %v, %s; want %+v", got.endpoint, got.protocol, got.onGoogle(), got.sampler.Description(), tc)
			}
		})
	}
}

func TestTracesFromEnvironmentRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT":        "collector:4317",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "localhost",
		"OTEL_EXPORTER_OTLP_PROTOCOL":        "http/json",
		"OTEL_TRACES_EXPORTER":               "zipkin",
		"OTEL_TRACES_SAMPLER":                "jaeger_remote",
		"OTEL_TRACES_SAMPLER_ARG":            "1 %",
		"OTEL_BSP_MAX_QUEUE_SIZE":            "0",
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317"}
			env[name] = value
			_, err := FromEnv(shell.LookupIn(env))
			if shell.Code(err) != shell.ExitUsage || !strings.HasPrefix(err.Error(), name+" is \""+value+"\", want") {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		})
	}
}

// What may be a password is not told of.
func TestAnEndpointThatIsNoURLKeepsItsPassword(t *testing.T) {
	for _, value := range []string{"user:secret@collector:4317", "http://user:secret@collector:port", "ftp://user:sec@ret@collector"} {
		_, err := FromEnv(shell.LookupIn(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": value}))
		if shell.Code(err) != shell.ExitUsage || strings.Contains(err.Error(), "sec") || !strings.Contains(err.Error(), "@collector") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
