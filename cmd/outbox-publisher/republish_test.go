package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts/inbox"
	"outboxrelay/deploy/local/pubsub"
	"outboxrelay/relay/postgres"
)

// graveyard is where dead letters go that nobody looks at.
type graveyard struct{}

func (graveyard) Bury(context.Context, inbox.DeadLetter) error { return nil }

// What one consumer gave up is published once more: it handles it, in the order of the aggregate, and
// the others, which have handled it, do not.
func TestRepublish(t *testing.T) {
	t.Parallel()
	s := setStage(t, testTopic)
	const sql = `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at, published_at)
		VALUES ($1::uuid, 'order_created', 'vendor_order', $2::uuid, jsonb_build_object('version', 1, 'eventId', ($1::uuid)::text, 'data', '{}'::jsonb), $3::timestamptz,
			CASE WHEN $4 THEN now() END)`
	aggregate, first, second, waiting, gone := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	execute(t, s.url, sql, second, aggregate, "2026-01-02 00:00:02Z", true)
	execute(t, s.url, sql, first, aggregate, "2026-01-02 00:00:01Z", true)
	execute(t, s.url, sql, waiting, aggregate, "2026-01-02 00:00:03Z", false)

	handled := map[string][]string{}
	boxes := map[string]*inbox.Inbox{}
	for _, name := range []string{"receipts", "ledger"} {
		boxes[name] = inbox.New(inbox.NewMemory(), name, inbox.Options{
			Decode: postgres.Decode, DeadLetters: graveyard{}, MaxTries: 1, Log: slog.New(slog.DiscardHandler),
		})
	}
	deliver := func(name string, data []byte, attributes map[string]string, err error) {
		t.Helper()
		if !boxes[name].Deliver(t.Context(), data, attributes, func(_ context.Context, e *inbox.Event) error {
			handled[name] = append(handled[name], e.EventID)
			return err
		}) {
			t.Errorf("%s does not acknowledge %s", name, attributes[postgres.AttrEventID])
		}
	}
	for _, id := range []uuid.UUID{first, second} { // as the publisher sent them
		data := []byte(`{"version":1,"eventId":"` + id.String() + `","data":{}}`)
		attributes := map[string]string{
			postgres.AttrEventID: id.String(), postgres.AttrEventType: "order_created", postgres.AttrAggregateType: "vendor_order",
			postgres.AttrAggregateID: aggregate.String(), postgres.AttrCreatedAt: "2026-01-02T00:00:01Z",
		}
		deliver("receipts", data, attributes, errors.New("it is mended later"))
		deliver("ledger", data, attributes, nil)
	}
	clear(handled)

	env := s.lookup()
	client, err := gcp.Place{Project: testProject, PubSub: env[gcp.EnvPubSub]}.DialPubSub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := pubsub.Subscribe(t.Context(), client, testTopic, "all"); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runProgram(t, env, "republish", second.String(), first.String(), waiting.String(), gone.String(), "--consumer", "receipts")
	if code != 6 || !strings.Contains(stdout, "2 of 4 rows are published again, for receipts") ||
		!strings.Contains(stderr, waiting.String()+": not published yet") || !strings.Contains(stderr, gone.String()+": not published yet") {
		t.Fatalf("ends with %d:\n%s%s", code, stdout, stderr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	arrived := 0
	_ = pubsub.Receive(ctx, client, "all", func(messages []*pb.ReceivedMessage) { // which ends when both are there
		for _, m := range messages {
			for name := range boxes {
				deliver(name, m.Message.Data, m.Message.Attributes, nil)
			}
		}
		if arrived += len(messages); arrived >= 2 {
			cancel()
		}
	})
	if diff := cmp.Diff(map[string][]string{"receipts": {first.String(), second.String()}}, handled); diff != "" {
		t.Errorf("handled (-want +got):\n%s", diff)
	}
	if n := s.published(); n != 2 {
		t.Errorf("%d rows are published, want 2: they stay as they are", n)
	}
}

// lookup is the environment of a process, for a run in this one.
func (s *stage) lookup() map[string]string {
	env := map[string]string{}
	for _, pair := range s.env {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

func TestRepublishUsage(t *testing.T) {
	code, _, stderr := runProgram(t, nil, "republish", "first", "--consumer", "the receipts")
	for _, want := range []string{`"first" is no ID`, "DATABASE_URL", "GOOGLE_CLOUD_PROJECT", `consumer "the receipts" is not`} {
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("ends with %d, want %q in: %s", code, want, stderr)
		}
	}
	if code, _, stderr = runProgram(t, nil, "republish", uuid.NewString()); code != 2 || !strings.Contains(stderr, "--consumer") {
		t.Errorf("without a consumer it ends with %d: %s", code, stderr)
	}
}

// An ID that is given twice is one row, in what is counted and told.
func TestRowsGivenTwiceCountOnce(t *testing.T) {
	t.Parallel()
	s := setStage(t, testTopic)
	env := s.lookup()
	published, waiting, gone := uuid.New(), uuid.New(), uuid.New()
	execute(t, s.url, insertSQL, published, 0, nil)
	execute(t, s.url, "UPDATE outbox_events SET published_at = now()")
	execute(t, s.url, insertSQL, waiting, 0, nil)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"republish", "--consumer", "receipts", published.String(), published.String(), gone.String(), gone.String()}, "1 of 2 rows are published again"},
		{[]string{"retry", waiting.String(), waiting.String(), gone.String(), strings.ToUpper(gone.String())}, "1 of 2 rows are tried again"},
	} {
		code, stdout, stderr := runProgram(t, env, c.args...)
		if code != 6 || !strings.Contains(stdout, c.want) || strings.Count(stderr, gone.String()) != 1 {
			t.Errorf("%v ends with %d, want %q:\n%s%s", c.args, code, c.want, stdout, stderr)
		}
	}
}

// A topic that is not there is told of, for each row.
func TestRepublishWithoutItsTopic(t *testing.T) {
	t.Parallel()
	s := setStage(t)
	env := s.lookup()
	id := uuid.New()
	execute(t, s.url, insertSQL, id, 0, nil)
	execute(t, s.url, "UPDATE outbox_events SET published_at = now()")
	code, stdout, stderr := runProgram(t, env, "republish", id.String(), "--consumer", "receipts")
	if code != 1 || !strings.Contains(stdout, "0 of 1") || !strings.Contains(stderr, id.String()) || !strings.Contains(stderr, testTopic) {
		t.Errorf("ends with %d:\n%s%s", code, stdout, stderr)
	}
}
