package notifications

import (
	"context"
	"testing"
	"time"

	"outboxrelay/relay/workqueue"
)

// An event that ends without an attempt has its line, too.
func TestLogOfAnEventWhoseLastWorkerDied(t *testing.T) {
	logOfNoAttempt(t, workqueue.CodeAbandoned, func(fields map[string]any) {
		fields["status"], fields["workerId"], fields["attempts"], fields["lockUntil"] = StatusProcessing, "gone", 5, time.Now().Add(-time.Hour)
	})
}

func TestLogOfAnEventWithoutAttempts(t *testing.T) {
	logOfNoAttempt(t, workqueue.CodeExhausted, with("attempts", 5))
}

func logOfNoAttempt(t *testing.T, code string, change func(map[string]any)) {
	t.Helper()
	f := setup(t, onEmbedded(t))
	tenant := f.tenant("a", twoAdmins...)
	ref := f.event(tenant, with("dedupeKey", "key"), change)
	q, err := workqueue.New(f.handler.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	f.awaitStatus(ref, StatusFailed)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	f.wantLine(map[string]any{
		"eventId": ref.ID, "clientId": tenant.ClientID, "condominiumId": tenant.CondominiumID, "dedupeKey": "key",
		"attempts": int64(5), "recipientsCount": int64(0), "result": "failed", "errorCode": code,
	})
}
