package main

import (
	"fmt"
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// From a complaint ("the deduction of that wallet did not come") to what happened:
// by the aggregate or the event to the trace, its timeline, and the log lines of it.
func TestE2EOperationsReadATrace(t *testing.T) {
	thorough.EndToEnd(t)
	c := openClinic(t)
	service := c.serve()
	wallet := c.aggregate("wallet")
	id := c.dead(contracts.ReviewRequired, wallet, 1)
	c.broker.accept(wallet)
	c.append(c.record(contracts.ReviewRequired, wallet, 2))
	eventually(t, "a later version has arrived", func() bool { return len(c.of(wallet)) > 0 })

	code, body := c.ask("dev-viewer", "/admin/v1/records?aggregateId="+wallet)
	t.Logf("GET /admin/v1/records?aggregateId=%s\n%d %s", wallet, code, body[:min(len(body), 1200)])
	trace := c.item(id).TraceID
	if !strings.Contains(string(body), trace) {
		t.Errorf("the aggregate's records do not tell the trace %s", trace)
	}
	before := c.mustDLQ("viewer", "trace", trace)
	c.mustDLQ("operator", "replay", id, "--wait", "--reason", "the consumer is mended")
	after := c.mustDLQ("viewer", "trace", trace)
	t.Logf("$ outbox-relay dlq trace %s\n%s", trace, after)
	for _, step := range []string{"appended", "failed", "replay", "delivered"} {
		if !strings.Contains(after, step) {
			t.Errorf("the timeline lacks %q", step)
		}
	}
	if strings.Count(after, "\n") <= strings.Count(before, "\n") {
		t.Error("the replay adds nothing to the timeline")
	}
	lines := c.logged(service, trace)
	t.Logf("log lines with the trace:\n%s", strings.Join(lines, "\n"))
	if len(lines) == 0 {
		t.Error("no log line has the trace")
	}
}

// logged are the lines of a service's log that have a trace.
func (c *clinic) logged(service *child, trace string) (lines []string) {
	for line := range strings.Lines(service.stderr.String()) {
		if strings.Contains(line, fmt.Sprintf("%q:%q", "traceId", trace)) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
