package freezer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/dlqtest"
)

func TestAlertsArePublishedAndMarked(t *testing.T) {
	f := setup(t)
	i := f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	topic := &dlqtest.Topic{}
	f.Freezer(topic)
	f.Eventually("the alert is marked", func() bool { return f.AllMarked(1) })
	all := topic.Messages()
	if len(all) != 1 {
		t.Fatalf("%d messages, want 1", len(all))
	}
	want := map[string]string{"type": "SECURITY_BLOCK", "aggregateId": "acc-1", "eventId": i.EventID, "traceId": i.TraceID, "deadLetter": i.ID, "outbox": "accOutbox", "reason": "ATTEMPTS_EXHAUSTED"}
	if diff := cmp.Diff(want, all[0].Attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	var got map[string]any
	if err := json.Unmarshal(all[0].Data, &got); err != nil {
		t.Fatal(err)
	}
	wantData := map[string]any{
		"severity": "SECURITY", "deadLetter": i.ID, "tier": "SECURITY_BLOCK", "reason": "ATTEMPTS_EXHAUSTED", "outbox": "accOutbox", "eventId": i.EventID,
		"eventType": "RoleChanged", "traceId": i.TraceID, "aggregateId": "acc-1", "frozen": true, "lastError": "Internal: no",
		"at": i.DeadAt.Format(time.RFC3339Nano),
	}
	if diff := cmp.Diff(wantData, got, cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "id" })); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

func TestAlertsWaitForTheTopic(t *testing.T) {
	f := setup(t)
	for n := range 5 {
		f.Die("accOutbox", "RoleChanged", fmt.Sprint("acc-", n), 1)
	}
	topic := &dlqtest.Topic{Fail: func(n int) error {
		if n <= 12 {
			return errors.New("unavailable")
		}
		return nil
	}}
	f.Freezer(topic)
	f.Eventually("all alerts are marked", func() bool { return f.AllMarked(5) })
	if n := len(topic.Messages()); n != 5 {
		t.Errorf("%d messages, want 5", n)
	}
}

func TestAlertsBeyondAPageArePublishedOnce(t *testing.T) {
	f := setup(t)
	const n = 120
	for k := range n {
		f.Die("accOutbox", "RoleChanged", fmt.Sprint("acc-", k), 1)
	}
	topic := &dlqtest.Topic{}
	f.Freezer(topic)
	f.Eventually("all alerts are marked", func() bool { return f.AllMarked(n) })
	if got := len(topic.Messages()); got != n {
		t.Errorf("%d messages, want %d", got, n)
	}
}

func TestSickAlertDoesNotHoldUpOthers(t *testing.T) {
	f := setup(t)
	for n := range 3 {
		f.Die("accOutbox", "RoleChanged", fmt.Sprint("acc-", n), 1)
	}
	sick := f.Alerts()[0]
	topic := &topicExcept{deadLetter: sick.DeadLetter}
	f.Freezer(topic)
	f.Eventually("the others are marked", func() bool {
		return !slices.ContainsFunc(f.Alerts(), func(a *dlq.Alert) bool { return a.PublishedAt.IsZero() != (a.ID == sick.ID) })
	})
}

func TestAlertSurvivesACrashBeforeItIsMarked(t *testing.T) {
	f := setup(t)
	f.Die("accOutbox", "RoleChanged", "acc-1", 1)
	topic := &dlqtest.Topic{}
	f.crash(topic, func(w dlq.Write) bool { return w.Collection == contracts.CollectionErrorLog })
	before := len(topic.Messages())
	if before == 0 || f.AllMarked(1) {
		t.Fatalf("%d messages before the crash, marked %t; want some, unmarked", before, f.AllMarked(1))
	}
	f.Freezer(topic)
	f.Eventually("the alert is marked", func() bool { return f.AllMarked(1) })
	marked := f.Alerts()[0].UpdateTime
	if n := len(topic.Messages()); n != before+1 {
		t.Errorf("published %d times after the crash, want once", n-before)
	}
	f.Queue.Ring(dlq.BellAlerts)
	f.Die("accOutbox", "RoleChanged", "acc-2", 1)
	f.Eventually("the next alert is marked", func() bool { return f.AllMarked(2) })
	if n := len(topic.Messages()); n != before+2 {
		t.Errorf("%d messages after another alert, want one more", n-before-1)
	}
	if !slices.ContainsFunc(f.Alerts(), func(a *dlq.Alert) bool { return a.UpdateTime.Equal(marked) }) {
		t.Error("the first alert was marked again")
	}
}
