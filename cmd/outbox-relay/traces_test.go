package main

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// theatre is a clinic with a collector of traces, and somebody who reads what
// messages say of them.
type theatre struct {
	*clinic
	traces *traceCollector

	mu       sync.Mutex
	messages map[string][]map[string]string // attributes by event ID, as they arrived
}

// openTheatre turns the service's traces on, with further variables.
func openTheatre(t *testing.T, traces *traceCollector, env ...string) *theatre {
	t.Helper()
	at, places := anyCloud(t)
	c := &theatre{clinic: openClinicAt(t, at, places), traces: traces, messages: map[string][]map[string]string{}}
	maps.Copy(c.env, traces.env(env...))
	consume(t, at, "theatre", c.catalog.Topics(), ofTarget, c.read)
	return c
}

func (c *theatre) read(_ string, a map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages[a[contracts.AttrEventID]] = append(c.messages[a[contracts.AttrEventID]], a)
}

// arrivedOf waits for n messages of a record and returns their attributes.
func (c *theatre) arrivedOf(r appender.Record, n int) (got []map[string]string) {
	c.t.Helper()
	eventually(c.t, "the messages are there", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		got = slices.Clone(c.messages[r.Fields[contracts.FieldEventID].(string)])
		return len(got) >= n
	})
	return got
}

// scheduled makes a record for two targets, whose producer's span is sampled.
func (c *theatre) scheduled(aggregate string) appender.Record {
	c.t.Helper()
	return c.recordOf("schedOutbox", "ScheduleAssigned", aggregate, 1)
}

// parentOf are the trace and the span that a record's producer names.
func parentOf(t *testing.T, r appender.Record) (trace, span string) {
	t.Helper()
	return readTraceparent(t, r.Fields[contracts.FieldTraceparent].(string))
}

func readTraceparent(t *testing.T, text string) (trace, span string) {
	t.Helper()
	parts := strings.Split(text, "-")
	if len(parts) != 4 {
		t.Fatalf("traceparent %q", text)
	}
	return parts[1], parts[2]
}

// names lists spans.
func names(spans []tracedSpan) (out []string) {
	for _, s := range spans {
		out = append(out, s.Name)
	}
	return out
}

// meet fails the test where stages leave a gap or overlap within their span.
func meet(t *testing.T, root tracedSpan, stages []tracedSpan) {
	t.Helper()
	at := root.Start
	for _, s := range stages {
		if !s.Start.Equal(at) || s.End.Before(s.Start) {
			t.Errorf("stage %q is from %v to %v, the one before it ended at %v", s.Name, s.Start, s.End, at)
		}
		at = s.End
	}
	if !root.End.Equal(at) {
		t.Errorf("%q ends at %v, its last stage at %v", root.Name, root.End, at)
	}
}

// One record's way is one trace, its producer's: from the append, by Firestore's
// clock, to the mark, in stages without a gap; and each message goes on with the
// span that sent it.
func TestE2ETraces(t *testing.T) {
	besideOthers(t)
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(strings.ReplaceAll(protocol, "/", " "), func(t *testing.T) {
			collector := startCollector
			if protocol != "grpc" {
				collector = startHTTPCollector
			}
			c := openTheatre(t, collector(t), "OTEL_EXPORTER_OTLP_PROTOCOL", protocol, "OTEL_SERVICE_NAME", "relay-under-test", "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
			c.serve()
			r := c.scheduled(c.aggregate("traced"))
			c.append(r)
			messages := c.arrivedOf(r, 2)
			trace, producer := parentOf(t, r)
			root := c.traces.await(t, trace, "relay ScheduleAssigned", 1)[0]
			spans := c.traces.all(trace)
			t.Logf("the way of %s:\n%s", r.ID, drawn(spans))

			if root.Parent != producer || root.Failed || root.Attributes["outbox_relay.outcome"] != "delivered" {
				t.Errorf("the record's span: %+v, want one below %s that says delivered", root, producer)
			}
			appended, err := c.docs.Collection(r.Outbox).Doc(r.ID).Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			created := appended.Data()[contracts.FieldCreatedAt].(time.Time)
			taken := below(spans, root.ID)[0].End
			if want := created; !root.Start.Equal(want) && !created.After(taken) {
				t.Errorf("its span begins at %v, the record was appended at %v", root.Start, want)
			}
			stages := below(spans, root.ID)
			if want := []string{"wait in Firestore", "wait in lane", "deliver", "settle"}; !slices.Equal(names(stages), want) {
				t.Fatalf("stages %q, want %q", names(stages), want)
			}
			meet(t, root, stages)
			sends := below(spans, stages[2].ID)
			if want := []string{"send ier-funnel-standard", "send ier-notif-router"}; !slices.Equal(slices.Sorted(slices.Values(names(sends))), want) {
				t.Errorf("below the delivery: %q, want %q", names(sends), want)
			}
			for _, m := range messages {
				if !slices.ContainsFunc(sends, func(s tracedSpan) bool {
					return m[contracts.AttrTraceparent] == "00-"+trace+"-"+s.ID+"-01" && s.Attributes["outbox_relay.target"] == m[contracts.AttrTarget]
				}) {
					t.Errorf("the message for %s has traceparent %s, which names none of its spans", m[contracts.AttrTarget], m[contracts.AttrTraceparent])
				}
			}
			if got := appended.Data()[contracts.FieldTraceparent]; got != r.Fields[contracts.FieldTraceparent] {
				t.Errorf("the record's traceparent became %v", got)
			}
			if got := root.Attributes["outbox_relay.trace_id"]; got != r.Fields[contracts.FieldTraceID] {
				t.Errorf("the record's traceId is %q in its span, want %v", got, r.Fields[contracts.FieldTraceID])
			}
			c.traces.mu.Lock()
			defer c.traces.mu.Unlock()
			if s := c.traces.service; s["service.name"] != "relay-under-test" || s["deployment.environment.name"] != "test" || s["gcp.project_id"] != c.env["GOOGLE_CLOUD_PROJECT"] {
				t.Errorf("the service calls itself %v", s)
			}
		})
	}
}

// A record that dies tells why: each attempt, the retries, the dead letter. Its
// replay is in the same trace and linked to the span in which it died.
func TestE2ETracesOfADeadLetter(t *testing.T) {
	thorough.EndToEnd(t)
	c := openTheatre(t, startCollector(t))
	service := c.serve()
	aggregate := c.aggregate("dies")
	c.broker.refuse(aggregate)
	r := c.record(contracts.ReviewRequired, aggregate, 1)
	c.append(r)
	trace, producer := parentOf(t, r)
	died := c.traces.await(t, trace, "relay WalletDeducted", 1)[0]
	if want := []string{"attempt failed", "attempt failed", "attempt failed", "dead-lettered"}; !died.Failed || died.Attributes["outbox_relay.outcome"] != "dead" ||
		!slices.Equal(slices.DeleteFunc(slices.Clone(died.Events), func(e string) bool { return e == "retry" }), want) {
		t.Errorf("the span of a record that died: %+v, want the events %q", died, want)
	}
	stages := slices.DeleteFunc(below(c.traces.all(trace), died.ID), func(s tracedSpan) bool { return s.Attributes["outbox_relay.settlement"] == "retry" })
	if want := []string{
		"wait in Firestore", "wait in lane", "deliver", "wait for retry", "deliver", "wait for retry", "deliver", "settle",
	}; !slices.Equal(names(stages), want) {
		t.Errorf("stages %q, want %q", names(stages), want)
	}
	meet(t, died, stages)
	for _, s := range c.traces.await(t, trace, "send ier-funnel-critical", 3) {
		if !s.Failed || s.Attributes["error.type"] == "" {
			t.Errorf("a failed attempt: %+v", s)
		}
	}

	for message, span := range map[string]string{"record dead-lettered": died.ID, "delivery failed": stages[2].ID} {
		line := lineOf(t, service.stderr, message)
		if want := "projects/" + c.env["GOOGLE_CLOUD_PROJECT"] + "/traces/" + trace; line["logging.googleapis.com/trace"] != want || line["logging.googleapis.com/spanId"] != span || line["logging.googleapis.com/trace_sampled"] != true {
			t.Errorf("the log line is not joined to its span %s: %v", span, line)
		}
	}

	c.broker.accept(aggregate)
	id := dlq.ID(keyOf(r))
	c.mustDLQ("operator", "replay", id, "--wait", "--reason", "mended")
	replay := c.traces.await(t, trace, "replay WalletDeducted", 1)[0]
	t.Logf("the way of a dead letter:\n%s", drawn(c.traces.all(trace)))
	if replay.Parent != producer || !slices.Equal(replay.Links, []string{died.ID}) || replay.Attributes["outbox_relay.dead_letter"] != id || replay.Attributes["outbox_relay.outcome"] != "delivered" {
		t.Errorf("the span of the replay: %+v, want one below %s, linked to %s", replay, producer, died.ID)
	}
	stages = below(c.traces.all(trace), replay.ID)
	if want := []string{"wait in lane", "deliver"}; !slices.Equal(names(stages), want) {
		t.Errorf("stages of the replay %q, want %q", names(stages), want)
	}
	sends := below(c.traces.all(trace), stages[1].ID)
	if m := c.arrivedOf(r, 1)[0]; len(sends) != 1 || m[contracts.AttrTraceparent] != "00-"+trace+"-"+sends[0].ID+"-01" {
		t.Errorf("the replayed message has traceparent %s, the spans below the delivery are %q", m[contracts.AttrTraceparent], names(sends))
	}
}

// Whether a record is traced is its producer's to say, where it says so. One
// that is not traced is published as if there were no traces.
func TestE2ETracesAreSampled(t *testing.T) {
	thorough.EndToEnd(t)
	c := openTheatre(t, startCollector(t), "OTEL_TRACES_SAMPLER_ARG", "1")
	service := c.serve()
	addr := strings.TrimPrefix(c.url, "http://")
	unsampled, plain, malformed := c.scheduled(c.aggregate("a")), c.scheduled(c.aggregate("b")), c.scheduled(c.aggregate("c"))
	parent := unsampled.Fields[contracts.FieldTraceparent].(string)
	unsampled.Fields[contracts.FieldTraceparent] = strings.TrimSuffix(parent, "01") + "00"
	delete(plain.Fields, contracts.FieldTraceparent)
	malformed.Fields[contracts.FieldTraceparent] = "00-not-a-trace-01"
	c.append(unsampled, plain, malformed)

	for _, m := range c.arrivedOf(unsampled, 2) {
		if got := m[contracts.AttrTraceparent]; got != unsampled.Fields[contracts.FieldTraceparent] {
			t.Errorf("the message of a record that is not sampled has traceparent %q, want its own", got)
		}
	}
	for what, r := range map[string]appender.Record{"without a traceparent": plain, "with a malformed one": malformed} {
		messages := c.arrivedOf(r, 2)
		trace, _ := readTraceparent(t, messages[0][contracts.AttrTraceparent])
		root := c.traces.await(t, trace, "relay ScheduleAssigned", 1)[0]
		if want := traceOfEvent(r.Fields[contracts.FieldEventID].(string)); root.Parent != "" || root.Trace != want || root.Attributes["outbox_relay.outcome"] != "delivered" {
			t.Errorf("the span of a record %s: %+v, want the first of trace %s", what, root, want)
		}
	}
	_, body := fetch(t, addr, "/metrics")
	service.signal(t, syscall.SIGTERM) // which sends whatever there is
	if code := service.wait(t); code != shell.ExitOK {
		t.Errorf("exit code %d", code)
	}
	trace, _ := parentOf(t, unsampled)
	if got := c.traces.all(trace); len(got) > 0 {
		t.Errorf("spans of a record that is not sampled: %q", names(got))
	}
	if want := `relay_traceparents_malformed_total{outbox="schedOutbox"} 1`; !strings.Contains(body, want) {
		t.Errorf("/metrics lacks %q", want)
	}
}

// traceOfEvent is the trace of a record that brings none.
func traceOfEvent(event string) string {
	sum := sha256.Sum256([]byte(event))
	return hex.EncodeToString(sum[:16])
}

// blackHole takes connections and never answers.
func blackHole(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	return "http://" + lis.Addr().String()
}

// Nothing waits for a collector: not a delivery, not the stop. What is lost is
// counted, and the log says so once.
func TestE2ETracesGoNowhere(t *testing.T) {
	thorough.EndToEnd(t)
	thorough.NotOnGoogle(t) // traces do not go there
	besideOthers(t)
	for name, endpoint := range map[string]func(*testing.T) string{
		"nobody listens": func(*testing.T) string { return "http://127.0.0.1:1" },
		"nobody answers": blackHole,
	} {
		t.Run(name, func(t *testing.T) {
			c := openTheatre(t, &traceCollector{endpoint: endpoint(t)}, "OTEL_TRACES_SAMPLER", "always_on", "OTEL_BSP_MAX_QUEUE_SIZE", "8")
			service := c.serve()
			addr := strings.TrimPrefix(c.url, "http://")
			records := make([]appender.Record, 20)
			for i := range records {
				records[i] = c.scheduled(c.aggregate("r" + string(rune('a'+i))))
			}
			c.append(records...)
			for _, r := range records {
				c.arrivedOf(r, 2)
			}
			const lost = `relay_trace_spans_dropped_total{reason="queue_full"} `
			eventually(t, "lost spans are counted", func() bool {
				_, body := fetch(t, addr, "/metrics")
				_, after, ok := strings.Cut(body, lost)
				return ok && !strings.HasPrefix(after, "0\n")
			})
			began := time.Now()
			service.signal(t, syscall.SIGTERM)
			if code := service.wait(t); code != shell.ExitOK {
				t.Errorf("exit code %d", code)
			}
			t.Logf("stopped within %v", time.Since(began).Round(10*time.Millisecond))
			if n := strings.Count(service.stderr.String(), "spans are lost"); n != 1 {
				t.Errorf("the log tells %d times of lost spans, want once:\n%s", n, service.stderr)
			}
		})
	}
}

// The handler of claims takes its steps below its attempt.
func TestE2ETracesOfClaims(t *testing.T) {
	thorough.EndToEnd(t)
	c := openConsulate(t)
	traces := startCollector(t)
	maps.Copy(c.env, traces.env())
	c.serve()
	account := c.aggregate("account")
	c.user(account, nil)
	r := c.roleChange(account, 1, map[string]any{"roles": roles(1)})
	c.append(r)
	trace, _ := parentOf(t, r)
	root := traces.await(t, trace, "relay RoleChanged", 1)[0]
	spans := traces.all(trace)
	t.Logf("the way of a role:\n%s", drawn(spans))
	deliver := below(spans, root.ID)[2]
	handle := below(spans, deliver.ID)
	if want := []string{"handle CLAIMS_HANDLER"}; !slices.Equal(names(handle), want) {
		t.Fatalf("below the delivery: %q, want %q", names(handle), want)
	}
	if want := []string{"claims look-up", "claims read", "claims commit", "claims set", "claims revoke", "claims announce"}; !slices.Equal(names(below(spans, handle[0].ID)), want) {
		t.Errorf("the handler's steps: %q, want %q", names(below(spans, handle[0].ID)), want)
	}
}
