package tracing

import (
	"net/url"
	"strconv"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"outboxrelay/cmd/outbox-relay/shell"
)

// The values of OTEL_EXPORTER_OTLP_PROTOCOL that are known.
const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

const (
	// defaultRatio is the share of the records without a traceparent that are
	// traced.
	defaultRatio = 0.01
	// defaultQueue is OpenTelemetry's own.
	defaultQueue = 2048
)

// FromEnv reads the variables that every OpenTelemetry program has. It
// returns nil, traces off, unless one of them names an endpoint.
func FromEnv(env shell.Lookup) (*Config, error) {
	if strings.EqualFold(env.Get("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	switch exporter := env.Get("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, shell.Usagef("OTEL_TRACES_EXPORTER is %q, want otlp or none", exporter)
	}
	c := &Config{protocol: first(env, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")}
	switch c.protocol {
	case "":
		c.protocol = protocolGRPC
	case protocolGRPC, protocolHTTP:
	default:
		return nil, shell.Usagef("OTEL_EXPORTER_OTLP_PROTOCOL is %q, want %s or %s", c.protocol, protocolGRPC, protocolHTTP)
	}
	var err error
	if c.endpoint, err = tracesEndpoint(env, c.protocol); err != nil || c.endpoint == nil {
		return nil, err
	}
	if c.sampler, err = samplerFrom(env); err != nil {
		return nil, err
	}
	c.queue = defaultQueue
	if text := env.Get("OTEL_BSP_MAX_QUEUE_SIZE"); text != "" {
		if c.queue, err = strconv.Atoi(text); err != nil || c.queue < 1 {
			return nil, shell.Usagef("OTEL_BSP_MAX_QUEUE_SIZE is %q, want a number of spans from 1", text)
		}
	}
	return c, nil
}

// first is the value of the first of the variables that is set.
func first(env shell.Lookup, names ...string) string {
	for _, name := range names {
		if value := strings.TrimSpace(env.Get(name)); value != "" {
			return value
		}
	}
	return ""
}

// tracesEndpoint is where traces go; nil: nowhere. The variable for traces is
// taken as it is; over HTTP, the one for all signals is where their paths begin.
func tracesEndpoint(env shell.Lookup, protocol string) (*url.URL, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	text := first(env, name)
	if text == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		if text = first(env, name); text == "" {
			return nil, nil
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		if at := strings.LastIndex(text, "@"); at >= 0 { // before it stands a password, perhaps
			text = "..." + text[at:]
		}
		return nil, shell.Usagef("%s is %q, want a URL such as http://localhost:4317", name, text)
	}
	if protocol == protocolHTTP && name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	return u, nil
}

// samplerFrom is the sampler that OTEL_TRACES_SAMPLER names. Without it a record
// is traced where its producer's trace is, and one of a hundred of those that
// bring no trace.
func samplerFrom(env shell.Lookup) (sdktrace.Sampler, error) {
	name := first(env, "OTEL_TRACES_SAMPLER")
	if name == "" {
		name = "parentbased_traceidratio"
	}
	kind, based := strings.CutPrefix(name, "parentbased_")
	var root sdktrace.Sampler
	switch kind {
	case "always_on":
		root = sdktrace.AlwaysSample()
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		ratio, err := ratioFrom(env)
		if err != nil {
			return nil, err
		}
		root = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, shell.Usagef("OTEL_TRACES_SAMPLER is %q, want always_on, always_off or traceidratio, or one of them after parentbased_", name)
	}
	if based {
		root = sdktrace.ParentBased(root)
	}
	return root, nil
}

// ratioFrom reads OTEL_TRACES_SAMPLER_ARG. OpenTelemetry means all traces where
// a ratio was asked for without saying which.
func ratioFrom(env shell.Lookup) (float64, error) {
	const name = "OTEL_TRACES_SAMPLER_ARG"
	text := first(env, name)
	switch {
	case text != "":
		ratio, err := strconv.ParseFloat(text, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			return 0, shell.Usagef("%s is %q, want a share from 0 to 1", name, text)
		}
		return ratio, nil
	case first(env, "OTEL_TRACES_SAMPLER") != "":
		return 1, nil
	}
	return defaultRatio, nil
}
