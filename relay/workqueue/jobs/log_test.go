package jobs

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/contracts/outbox"
)

// Log eventId, outbox id, status transitions, and nothing of what people read.
func TestLogNamesEventJobAndTransitions(t *testing.T) {
	r := onEmbedded(t)
	core, logs := observer.New(zapcore.InfoLevel)
	r.log = zap.New(core)
	job := r.emit("m-1", "in_app", "ann", "matter-created")
	dead := r.emit("m-2", "in_app", "ann", "broken")
	stop := r.run()
	r.untilStatus(job, "sent")
	r.untilStatus(dead, "dead")
	stop()
	transitions := map[string]int{}
	for _, line := range logs.All() {
		fields := line.ContextMap()
		if from, ok := fields["from"].(string); ok {
			id := strings.TrimPrefix(fmt.Sprint(fields["document"]), outbox.Jobs+"/")
			if got := r.get(r.client.Collection(outbox.Jobs).Doc(id))["eventId"]; fields["eventId"] != got {
				t.Errorf("eventId of %s is %v, want %v", id, fields["eventId"], got)
			}
			transitions[fmt.Sprintf("%s: %s to %s", id, from, fields["status"])]++
		}
		if text := fmt.Sprint(line.Message, fields); strings.Contains(text, "Smith") {
			t.Errorf("the log tells what people read: %s", text)
		}
	}
	for _, want := range []string{job.ID + ": pending to processing", job.ID + ": processing to sent", dead.ID + ": pending to processing", dead.ID + ": processing to dead"} {
		if transitions[want] != 1 {
			t.Errorf("%q is logged %d times, want once: %v", want, transitions[want], transitions)
		}
	}
}
