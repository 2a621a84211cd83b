package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"outboxrelay/deploy/local/poll"
)

// traceCollector is an OTLP collector that keeps what it is sent.
type traceCollector struct {
	coltracepb.UnimplementedTraceServiceServer
	endpoint string // as OTEL_EXPORTER_OTLP_ENDPOINT takes it

	mu      sync.Mutex
	spans   []tracedSpan
	service map[string]string // the resource of what came last
}

// tracedSpan is a span as it arrived.
type tracedSpan struct {
	Name, Trace, ID, Parent string
	Start, End              time.Time
	Attributes              map[string]string
	Events                  []string
	Links                   []string // IDs of spans
	Kind                    tracepb.Span_SpanKind
	Failed                  bool
}

// startCollector listens for OTLP over gRPC.
func startCollector(t *testing.T) *traceCollector {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &traceCollector{endpoint: "http://" + lis.Addr().String()}
	server := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(server, c)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(lis) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// startHTTPCollector listens for OTLP over HTTP.
func startHTTPCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var req coltracepb.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &req)
		}
		if err != nil {
			t.Errorf("what the exporter sent: %v", err)
		}
		c.take(&req)
		w.Header().Set("Content-Type", "application/x-protobuf")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.endpoint = server.URL
	return c
}

// Export implements the OTLP service.
func (c *traceCollector) Export(_ context.Context, req *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	c.take(req)
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

func (c *traceCollector) take(req *coltracepb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.ResourceSpans {
		c.service = attributeTexts(r.Resource.GetAttributes())
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				c.spans = append(c.spans, readSpan(span))
			}
		}
	}
}

func readSpan(s *tracepb.Span) tracedSpan {
	out := tracedSpan{
		Name: s.Name, Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
		Start: time.Unix(0, int64(s.StartTimeUnixNano)), End: time.Unix(0, int64(s.EndTimeUnixNano)),
		Attributes: attributeTexts(s.Attributes), Kind: s.Kind, Failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR,
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, e.Name)
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, hex.EncodeToString(l.SpanId))
	}
	return out
}

func attributeTexts(attributes []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[a.Key] = fmt.Sprint(v.IntValue)
		default:
			out[a.Key] = a.Value.String()
		}
	}
	return out
}

// env turns traces on, with spans that are sent soon.
func (c *traceCollector) env(more ...string) map[string]string {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "20"}
	for i := 0; i+1 < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	return env
}

// all are the spans of a trace that have arrived, by their beginnings; of every
// trace when that is "".
func (c *traceCollector) all(trace string) []tracedSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(c.spans), func(s tracedSpan) bool { return trace != "" && s.Trace != trace })
	slices.SortStableFunc(out, func(a, b tracedSpan) int { return a.Start.Compare(b.Start) })
	return out
}

// await waits until the trace has n spans with that name, and returns them.
func (c *traceCollector) await(t *testing.T, trace, name string, n int) (found []tracedSpan) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d spans %q are there", n, name), func() bool {
		found = slices.DeleteFunc(c.all(trace), func(s tracedSpan) bool { return s.Name != name })
		return len(found) >= n
	})
	return found
}

// below are the children of a span, by their beginnings.
func below(spans []tracedSpan, parent string) []tracedSpan {
	return slices.DeleteFunc(slices.Clone(spans), func(s tracedSpan) bool { return s.Parent != parent })
}

// drawn is a trace as people read it: one line for each span, with when it began
// after the first one and how long it took.
func drawn(spans []tracedSpan) string {
	var b strings.Builder
	known := map[string]bool{}
	for _, s := range spans {
		known[s.ID] = true
	}
	var draw func(s tracedSpan, depth int)
	draw = func(s tracedSpan, depth int) {
		mark := ""
		if s.Failed {
			mark = "  ERROR"
		}
		if len(s.Events) > 0 {
			mark += fmt.Sprintf("  events %q", s.Events)
		}
		if len(s.Links) > 0 {
			mark += fmt.Sprintf("  linked to %v", s.Links)
		}
		fmt.Fprintf(&b, "%+8.1f ms %8.1f ms  %s%-*s%s", float64(s.Start.Sub(spans[0].Start).Microseconds())/1e3, float64(s.End.Sub(s.Start).Microseconds())/1e3,
			strings.Repeat("  ", depth), 36-2*depth, s.Name, mark)
		for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
			switch short, ours := strings.CutPrefix(key, "outbox_relay."); {
			case ours && depth > 0, short == "outcome", short == "dead_letter":
				fmt.Fprintf(&b, "  %s=%s", short, s.Attributes[key])
			}
		}
		b.WriteByte('\n')
		for _, child := range below(spans, s.ID) {
			draw(child, depth+1)
		}
	}
	for _, s := range spans {
		if !known[s.Parent] {
			draw(s, 0)
		}
	}
	return b.String()
}

// lineOf awaits the first line with a message in a log, as its fields: a span may be there before it.
func lineOf(t *testing.T, log fmt.Stringer, message string) (fields map[string]any) {
	t.Helper()
	if !poll.True(testPatience, 10*time.Millisecond, func() bool {
		for line := range strings.Lines(log.String()) {
			fields = nil
			if json.Unmarshal([]byte(line), &fields) == nil && fields["message"] == message {
				return true
			}
		}
		return false
	}) {
		t.Errorf("the log has no line %q", message)
		return nil
	}
	return fields
}
