package claims

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// world is what the handlers of a test share: documents, users and a topic, all
// in memory.
type world struct {
	mu        sync.Mutex
	docs      map[Ref]Doc
	users     map[string]map[string]any
	created   map[string]time.Time // users
	revoked   int
	published []message
	held      []any // the user's claimsVersion when each message was published
	writes    int   // of documents and users
	clock     time.Time
}

type message struct {
	key        string
	data       string
	attributes map[string]string
}

func newWorld() *world {
	return &world{docs: map[Ref]Doc{}, users: map[string]map[string]any{}, created: map[string]time.Time{}, clock: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
}

func (w *world) tick() time.Time {
	w.clock = w.clock.Add(time.Millisecond)
	return w.clock
}

// verdict is what becomes of one call of a port.
type verdict int

const (
	pass        verdict = iota
	crashBefore         // the handler dies, and the call was never made
	crashAfter          // it dies once the call took effect
	lost                // the call takes effect; the answer is lost, and a repeat of it is refused
)

var errCrash = errors.New("the handler was killed")

type refusal struct{ contracts.Failure }

func (*refusal) Refused() bool { return true }

// memory is one handler's way to the world. gate is asked before each call, nil
// passes all.
type memory struct {
	world *world
	gate  func(call string) verdict
}

func (m *memory) call(name string, effect func() error) error {
	v := pass
	if m.gate != nil {
		v = m.gate(name)
	}
	if v == crashBefore {
		return errCrash
	}
	m.world.mu.Lock()
	err := effect()
	m.world.mu.Unlock()
	if v == crashAfter {
		return errCrash
	}
	if v == lost && err == nil {
		return &refusal{contracts.Failure{Code: "FailedPrecondition"}}
	}
	return err
}

func (m *memory) Get(_ context.Context, refs ...Ref) (docs []Doc, err error) {
	err = m.call("get", func() error {
		for _, ref := range refs {
			d := m.world.docs[ref]
			d.Fields, d.ReadTime = maps.Clone(d.Fields), m.world.clock
			docs = append(docs, d)
		}
		return nil
	})
	return docs, err
}

func (m *memory) Put(_ context.Context, ref Ref, before Doc, fields map[string]any) (doc Doc, err error) {
	err = m.call("put "+ref.Collection, func() error {
		if !m.world.docs[ref].UpdateTime.Equal(before.UpdateTime) {
			return &refusal{contracts.Failure{Code: "FailedPrecondition"}}
		}
		at := m.world.tick()
		doc = Doc{Fields: maps.Clone(fields), UpdateTime: at, ReadTime: at}
		m.world.docs[ref] = doc
		m.world.writes++
		return nil
	})
	return doc, err
}

func (m *memory) User(_ context.Context, uid string) (found User, err error) {
	err = m.call("look up", func() error {
		user, ok := m.world.users[uid]
		if !ok {
			return &contracts.Failure{Code: CodeUserNotFound, Own: true}
		}
		data, err := json.Marshal(user)
		if err != nil {
			return err
		}
		found.Claims, err = DecodeClaims(data)
		found.Created = m.world.created[uid]
		return err
	})
	return found, err
}

func (m *memory) SetClaims(_ context.Context, uid string, claims map[string]any) error {
	return m.call("set", func() error {
		data, err := EncodeClaims(claims)
		if err != nil {
			return err
		}
		m.world.writes++
		var stored map[string]any
		if json.Unmarshal(data, &stored) != nil || canonical(stored) != canonical(claims) { // no float64 holds some number
			stored, err = DecodeClaims(data)
		}
		m.world.users[uid] = stored
		return err
	})
}

func (m *memory) RevokeTokens(context.Context, string) error {
	return m.call("revoke", func() error {
		m.world.revoked++
		return nil
	})
}

func (m *memory) PublishOrdered(_ context.Context, key string, data []byte, attributes map[string]string) error {
	return m.call("publish", func() error {
		m.world.held = append(m.world.held, m.world.users[key][claimVersion])
		m.world.published = append(m.world.published, message{key, string(data), attributes})
		return nil
	})
}

// catalog has the default events, with or without revoking tokens.
func catalog(revoke bool) *contracts.Catalog {
	c, err := contracts.DefaultCatalog()
	if err != nil {
		panic(err)
	}
	spec := c.Targets[DefaultTarget]
	spec.RatePerSecond = 1e9
	c.Targets[DefaultTarget] = spec
	for _, name := range []string{"RoleChanged", "PolicyChanged"} {
		c.Outbox("accOutbox").Route(name).RevokeTokens = revoke
	}
	return c
}

// newHandler returns a handler of the world.
func (w *world) newHandler(c *contracts.Catalog, gate func(call string) verdict) *Handler {
	m := &memory{w, gate}
	h, err := New(Config{Catalog: c, Store: m, Accounts: m, Signals: m, Timeout: time.Hour})
	if err != nil {
		panic(err)
	}
	return h
}

// record is a RoleChanged of acc-1.
func record(version int64, payload string) (*contracts.Record, []byte) {
	rec := &contracts.Record{
		Outbox: "accOutbox", EventID: "event-" + string(rune('a'+version)), EventType: "RoleChanged", EventVersion: 1,
		AggregateID: "acc-1", AggregateVersion: version, TraceID: "trace-" + string(rune('a'+version)),
	}
	rec.IdempotencyKey = contracts.IdempotencyKey(rec.EventID, rec.AggregateID, version)
	envelope, err := json.Marshal(contracts.Envelope{
		EventID: rec.EventID, EventName: rec.EventType, EventVersion: 1, AggregateID: rec.AggregateID,
		AggregateVersion: version, TraceID: rec.TraceID, IdempotencyKey: rec.IdempotencyKey, Payload: json.RawMessage(payload),
	})
	if err != nil {
		panic(err)
	}
	return rec, envelope
}

// givesUp has a record fail before its claims are set until it is a dead letter.
func (w *world) givesUp(t *testing.T, version int64, payload string) {
	t.Helper()
	w.givesUpAt(t, "set", version, payload)
}

// givesUpAt has it fail at a call, and returns it.
func (w *world) givesUpAt(t *testing.T, call string, version int64, payload string) (*contracts.Record, []byte) {
	t.Helper()
	failing := w.newHandler(catalog(true), func(c string) verdict {
		if c == call {
			return crashBefore
		}
		return pass
	})
	rec, envelope := record(version, payload)
	for range 3 {
		if err := failing.Handle(t.Context(), rec, envelope); err == nil {
			t.Fatal("it is carried out")
		}
	}
	return rec, envelope
}
