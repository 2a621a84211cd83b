// Package tracing sends the relay's spans to a collector, as the variables of
// OpenTelemetry say. Nothing waits for the collector.
package tracing

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/oauth"
)

// Config says where traces go and which records are traced. A nil one:
// traces are off.
type Config struct {
	endpoint *url.URL
	protocol string // protocolGRPC or protocolHTTP
	sampler  sdktrace.Sampler
	queue    int // spans that wait to be sent at most
}

// onGoogle reports whether the endpoint is Google Cloud's own, which takes
// traces from those that it knows.
func (c *Config) onGoogle() bool {
	host := c.endpoint.Hostname()
	return strings.HasPrefix(host, "telemetry.") && strings.HasSuffix(host, ".googleapis.com")
}

const (
	// spanText bounds an attribute in bytes: a record's fields may be of any
	// length.
	spanText = 1024
	// scopeCloud lets a token call Google Cloud.
	scopeCloud = "https://www.googleapis.com/auth/cloud-platform"
)

// tracerName is the instrumentation scope of the spans.
const tracerName = "outboxrelay"

// Service is what all spans have in common.
type Service struct {
	Project, Instance string
	Revision          string // of the deployment; may be empty
	Version           string // of the build; may be empty
}

// Open makes the tracer; nil when traces are off. flush sends what is queued until
// ctx ends, and counts the rest as lost; it is nil where tracer is. The provider is
// the service's own: the client libraries of Firestore and Pub/Sub, which look for
// a global one, stay as they are.
func (c *Config) Open(ctx context.Context, of Service, reg prometheus.Registerer, log *zap.Logger) (tracer trace.Tracer, flush func(ctx context.Context), err error) {
	if c == nil {
		return nil, nil, nil
	}
	exporter, err := c.exporter(context.WithoutCancel(ctx)) // as it sends beyond the stop
	if err != nil {
		log.Warn("traces are off", zap.Error(err))
		return nil, nil, nil
	}
	about, err := describeService(ctx, of)
	if err != nil {
		return nil, nil, fmt.Errorf("describe service for traces: %w", err)
	}
	out := newSpanOutlet(exporter, c.queue, reg, log)
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = spanText
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(c.sampler), sdktrace.WithIDGenerator(eventIDs{}), sdktrace.WithResource(about),
		sdktrace.WithRawSpanLimits(limits), sdktrace.WithSpanProcessor(out),
	)
	log.Info("traces are on", zap.String("endpoint", c.endpoint.Redacted()), zap.String("protocol", c.protocol), zap.String("sampler", c.sampler.Description()))
	return provider.Tracer(tracerName), out.close, nil
}

// exporter makes the exporter. It contacts nobody but the metadata server, and
// that only for Google's endpoint. The library reads the variables
// of OpenTelemetry that are its own: headers, certificates, compression, timeout.
func (c *Config) exporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	var token oauth2.TokenSource
	if c.onGoogle() {
		var err error
		if token, err = google.DefaultTokenSource(ctx, scopeCloud); err != nil {
			return nil, err
		}
	}
	if c.protocol == protocolHTTP {
		options := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(c.endpoint.String())}
		if token != nil {
			options = append(options, otlptracehttp.WithHTTPClient(&http.Client{Transport: &oauth2.Transport{Source: token}}))
		}
		return otlptracehttp.New(ctx, options...)
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithEndpointURL(c.endpoint.String())}
	if token != nil {
		options = append(options, otlptracegrpc.WithDialOption(grpc.WithPerRPCCredentials(oauth.TokenSource{TokenSource: token})))
	}
	return otlptracegrpc.New(ctx, options...)
}

// describeService is what all spans have in common. The variables of
// OpenTelemetry win over what the program knows of itself.
func describeService(ctx context.Context, of Service) (*resource.Resource, error) {
	attributes := []attribute.KeyValue{
		semconv.ServiceName("outbox-relay"), semconv.ServiceInstanceID(of.Instance),
		attribute.String("gcp.project_id", of.Project), // where Google Cloud's endpoint keeps them
	}
	if of.Version != "" {
		attributes = append(attributes, semconv.ServiceVersion(of.Version))
	}
	if of.Revision != "" {
		attributes = append(attributes, semconv.FaaSVersion(of.Revision))
	}
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
}

// registerSpans makes the counters of spans.
func registerSpans(reg prometheus.Registerer) (sent prometheus.Counter, dropped *prometheus.CounterVec) {
	sent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "relay_trace_spans_sent_total", Help: "Spans that the collector took. Only while traces are on.",
	})
	dropped = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "relay_trace_spans_dropped_total", Help: "Spans that were lost: the queue was full, they could not be sent, or the service stopped. Only while traces are on.",
	}, []string{"reason"})
	for _, reason := range []string{droppedFull, droppedUnsent, droppedStop} {
		dropped.WithLabelValues(reason)
	}
	reg.MustRegister(sent, dropped)
	return sent, dropped
}
