package relay_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
)

// Whatever stands in an outbox ends delivered or in the dead-letter queue with
// its faults named, and nothing else waits for it.
func TestHostileRecords(t *testing.T) {
	thorough.Long(t)
	hostileRecords(t, newCloud(t))
}

func TestHostileRecordsOnGoogle(t *testing.T) { hostileRecords(t, onGoogle(t)) }

func hostileRecords(t *testing.T, c *cloud) {
	f := setup(t, c)
	f.patience = 2 * time.Minute
	f.tuning.SweepInterval = 200 * time.Millisecond
	f.withQueue(nil)
	r := f.run()
	corpus := f.hostileRecords()
	paths := make(map[string]hostile)
	var ordinary []*contracts.Record
	for i, h := range corpus {
		if i%20 == 0 { // among them, ordinary records of aggregates of their own
			next := f.series("wsOutbox", "TaskCompleted", fmt.Sprint("neighbour-", i/20%3), int64(i/20)+1, int64(i/20)+1)
			f.append(next, 1)
			ordinary = append(ordinary, next...)
		}
		record := f.record("wsOutbox", "TaskCompleted", fmt.Sprint("hostile-", i), 1)
		path, ok := f.appendHostile(record, h)
		if !ok {
			t.Errorf("%s: Firestore does not take it", h.name)
			continue
		}
		paths[path] = h
		if i%10 == 0 { // and one that comes next in the aggregate of a hostile one
			next := f.series("wsOutbox", "TaskCompleted", record.AggregateID, 2, 2)
			f.append(next, 1)
			ordinary = append(ordinary, next...)
		}
	}
	if got := f.delivered(ordinary); got.missing > 0 || got.disordered > 0 {
		t.Errorf("ordinary records: got %+v, want every one in order", got)
	}
	f.through(paths)
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 })
	// Few: on a busy machine a sweep may come to what a reader is still decoding.
	if n := r.metric("relay_sweep_found_total", "outbox", "wsOutbox", "found", "missed"); n > 20 {
		t.Errorf("%v records waited for a sweep that a listener should have told of", n)
	}
	f.judgeHostile(paths)
}

// What Firestore itself keeps out need not be judged by the relay. It refuses
// what is over 1 MiB, so that no payload of that size ever stands in an outbox.
func TestFirestoreRefuses(t *testing.T) { firestoreRefuses(t, newCloud(t)) }

func TestFirestoreRefusesOnGoogle(t *testing.T) { firestoreRefuses(t, onGoogle(t)) }

func firestoreRefuses(t *testing.T, c *cloud) {
	f := setup(t, c)
	for i, h := range refused() {
		if path, ok := f.appendHostile(f.record("wsOutbox", "TaskCompleted", fmt.Sprint("refused-", i), 1), h); ok {
			t.Errorf("%s: it stands as %.100s", h.name, path)
		}
	}
}

// A message can only be larger than Pub/Sub takes where JSON needs far more room
// than Firestore counts: six bytes for a control character, and three for an
// empty map, which counts nothing. Google's emulator counts maps as well, and so
// takes no such record.
func TestAMessageOverPubSubsSize(t *testing.T) {
	thorough.Long(t)
	f := setup(t, newCloud(t))
	f.withQueue(nil)
	r := f.run()
	large := f.record("wsOutbox", "TaskCompleted", "large", 1)
	payload := map[string]any{"text": strings.Repeat("\x01", most), "maps": slices.Repeat([]any{map[string]any{}}, 1_300_000)}
	f.appendOdd(large, sets("payload", payload))
	next := f.series("wsOutbox", "TaskCompleted", "next", 1, 3)
	f.append(next, 1)
	if got, want := f.delivered(next), (judgement{}); got != want {
		t.Errorf("ordinary records: got %+v, want every one in order", got)
	}
	f.eventually("nothing is left in memory", func() bool { return r.inMemory() == 0 && len(f.deadLetters()) == 1 })
	item := f.item(large)
	if item.Reason != contracts.ContractViolation || !item.RecordTrimmed || !strings.Contains(item.Errors[0].Message, "makes a message of") {
		t.Errorf("got reason %s, trimmed %v and %v", item.Reason, item.RecordTrimmed, item.Errors)
	}
}

// appendHostile appends a record as h has it. It reports false when Firestore
// refuses it.
func (f *fixture) appendHostile(record *contracts.Record, h hostile) (path string, ok bool) {
	f.t.Helper()
	fields := record.ProducerFields()
	fields["createdAt"] = firestore.ServerTimestamp
	h.change(fields)
	ref := f.db.Collection(record.Outbox).Doc(record.ID)
	if h.id != "" {
		ref = f.db.Collection(record.Outbox).Doc(h.id)
	}
	_, err := ref.Create(f.ctx, fields)
	switch status.Code(err) {
	case codes.OK:
		return record.Outbox + "/" + ref.ID, true
	case codes.InvalidArgument, codes.Internal: // Internal is the client's, of what is not UTF-8
		f.t.Logf("%s: %.200v", h.name, err)
		return "", false
	}
	f.t.Fatalf("%s: %v", h.name, err)
	return "", false
}

// through waits until every record is delivered or dead.
func (f *fixture) through(paths map[string]hostile) {
	f.t.Helper()
	left := maps.Clone(paths)
	defer func() {
		for path, h := range left {
			f.t.Errorf("%s is left with status %v", h.name, f.fields(path)["status"])
		}
	}()
	f.eventually("every hostile record is through", func() bool {
		var refs []*firestore.DocumentRef
		for path := range left {
			refs = append(refs, f.db.Doc(path))
		}
		snaps, err := f.db.GetAll(f.ctx, refs)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, snap := range snaps {
			if status := snap.Data()["status"]; status == string(contracts.Delivered) || status == string(contracts.Dead) {
				delete(left, snap.Ref.Parent.ID+"/"+snap.Ref.ID)
			}
		}
		return len(left) == 0
	})
}

// judgeHostile compares what became of the records with what should have.
func (f *fixture) judgeHostile(paths map[string]hostile) {
	f.t.Helper()
	docs, err := f.db.Collection(contracts.CollectionDeadLetters).Documents(f.ctx).GetAll()
	if err != nil {
		f.t.Fatal(err)
	}
	letters := make(map[string]*firestore.DocumentSnapshot)
	for _, d := range docs {
		letters[d.Data()["recordPath"].(string)] = d
	}
	for path, h := range paths {
		fields, letter := f.fields(path), letters[path]
		eventID, _ := fields["eventId"].(string)
		if h.fault == "" {
			f.eventually(h.name+" arrives", func() bool { return f.messages(eventID) > 0 })
		}
		n := f.messages(eventID)
		switch {
		case h.fault == "" && (fields["status"] != "delivered" || letter != nil):
			f.t.Errorf("%s: got status %v and a dead letter %v, want it delivered", h.name, fields["status"], letter != nil)
		case h.fault != "" && (fields["status"] != "dead" || letter == nil || n > 0):
			f.t.Errorf("%s: got status %v, a dead letter %v and %d messages, want it dead", h.name, fields["status"], letter != nil, n)
		case letter != nil:
			f.judgeLetter(h, letter)
		}
	}
}

// messages counts what arrived of an event.
func (f *fixture) messages(eventID string) int {
	n := 0
	for _, m := range f.inbox.all() {
		if m.attributes["eventId"] == eventID {
			n++
		}
	}
	return n
}

// judgeLetter wants a dead letter that names the fault, within bounds, and that
// the queue can read.
func (f *fixture) judgeLetter(h hostile, letter *firestore.DocumentSnapshot) {
	f.t.Helper()
	item, err := f.queue.Item(f.ctx, letter.Ref.ID)
	if err != nil {
		f.t.Errorf("%s: read dead letter: %v", h.name, err)
		return
	}
	if item.Reason != contracts.ContractViolation || item.Tier != contracts.ReviewRequired && item.Tier != contracts.SecurityBlock {
		f.t.Errorf("%s: got reason %s under %s", h.name, item.Reason, item.Tier)
	}
	var named bool
	for _, e := range item.Errors {
		named = named || strings.HasPrefix(e.Message, h.fault)
		if len(e.Message) > contracts.MaxErrorBytes || !utf8.ValidString(e.Message) {
			f.t.Errorf("%s: an error of %d bytes: %.100q", h.name, len(e.Message), e.Message)
		}
	}
	if !named || len(item.Errors) > 50 {
		f.t.Errorf("%s: %d errors, none of them on %s: %.1000v", h.name, len(item.Errors), h.fault, item.Errors)
	}
}
