package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// modelRecord is a record of the model, and what it says.
type modelRecord struct {
	version int64
	parts   map[string]any // by name in the payload
	acked   bool
}

// slot is a handler that runs, one call of its ports at a time.
type slot struct {
	asks    chan string
	answers chan verdict
	ends    chan error
	handler *Handler

	running *modelRecord // nil: idle
	at      string       // the call that it waits to make
}

func newSlot(w *world, c *contracts.Catalog) *slot {
	s := &slot{asks: make(chan string), answers: make(chan verdict), ends: make(chan error)}
	s.handler = w.newHandler(c, func(call string) verdict {
		s.asks <- call
		return <-s.answers
	})
	return s
}

// start begins a record and runs up to its first call.
func (s *slot) start(t tester, r *modelRecord) {
	s.running = r
	payload, err := json.Marshal(r.parts)
	if err != nil {
		t.Fatal(err)
	}
	rec, envelope := record(r.version, string(payload))
	go func() { s.ends <- s.handler.Handle(t.Context(), rec, envelope) }() // ends when the slot was advanced to its end
	s.await(t)
}

// advance lets the call pass, or fail, and runs up to the next one.
func (s *slot) advance(t tester, v verdict) {
	s.answers <- v
	s.await(t)
}

func (s *slot) await(t tester) {
	select {
	case s.at = <-s.asks:
	case err := <-s.ends:
		switch {
		case err == nil:
			s.running.acked = true
		case !errors.Is(err, errCrash) && contracts.CodeOf(err) != CodeContended:
			t.Errorf("record %d: %v", s.running.version, err)
		}
		s.running, s.at = nil, ""
	}
}

// model drives two handlers over records of one account.
type model struct {
	t       *rapid.T
	world   *world
	records []*modelRecord
	doomed  map[*modelRecord]bool // those of which Auth refuses the claims: they are given up, and must not take effect by another's
	slots   []*slot
	account map[string]any // fields of the account's document; nil: none
	others  map[string]any // claims of the user that are not the handler's, and roles from before it
	revokes bool           // the route asks for it

	overlapped bool // two handlers ran at the same time
	crashed    bool // one died between its message and its note
}

func drawParts(t *rapid.T) map[string]any {
	list := rapid.SliceOfN(rapid.SampledFrom([]string{"admin", "editor", "viewer"}), 0, 2)
	parts := map[string]any{}
	if rapid.Bool().Draw(t, "has roles") {
		parts["roles"] = list.Draw(t, "roles")
	}
	if rapid.Bool().Draw(t, "has policies") {
		parts["policies"] = list.Draw(t, "policies")
	}
	if rapid.Bool().Draw(t, "has claims") {
		parts["claims"] = rapid.MapOfN(rapid.SampledFrom([]string{"plan", "seat"}), rapid.IntRange(1, 2), 0, 2).Draw(t, "claims")
	}
	return parts
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, world: newWorld(), doomed: map[*modelRecord]bool{}, others: map[string]any{}}
	if rapid.Bool().Draw(t, "others") {
		m.others["tenant"] = "t-1"
	}
	if rapid.Bool().Draw(t, "roles of others") {
		m.others["roles"] = []any{"admin"}
	}
	m.world.users["acc-1"] = nil
	if len(m.others) > 0 {
		m.world.users["acc-1"] = maps.Clone(m.others)
	}
	if rapid.Bool().Draw(t, "account's document") {
		m.account = map[string]any{"roles": []any{"owner"}, "name": "Ada"}
		if rapid.Bool().Draw(t, "has a version") {
			m.account["aggregateVersion"] = rapid.Int64Range(10, 20).Draw(t, "version")
		}
		m.world.docs[accountRef("acc-1")] = Doc{Fields: m.account, UpdateTime: m.world.tick()}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "records") {
		r := &modelRecord{version: int64(i + 1), parts: drawParts(t)}
		if len(r.parts) == 0 && m.account == nil {
			r.parts["roles"] = []string{}
		}
		m.doomed[r] = i > 0 && rapid.IntRange(0, 3).Draw(t, "doomed") == 0
		m.records = append(m.records, r)
	}
	m.revokes = rapid.Bool().Draw(t, "revoke")
	c := catalog(m.revokes)
	for range rapid.IntRange(1, 2).Draw(t, "handlers") {
		m.slots = append(m.slots, newSlot(m.world, c))
	}
	return m
}

// step starts a record in an idle slot, or advances a busy one.
func (m *model) step() {
	s := rapid.SampledFrom(m.slots).Draw(m.t, "slot")
	if s.running == nil {
		s.start(m.t, rapid.SampledFrom(m.records).Draw(m.t, "record"))
	} else {
		m.advance(s, rapid.SampledFrom([]verdict{pass, pass, pass, pass, pass, pass, pass, pass, crashBefore, crashAfter, lost}).Draw(m.t, "verdict"))
	}
	if len(m.slots) == 2 && m.slots[0].running != nil && m.slots[1].running != nil {
		m.overlapped = true
	}
}

func (m *model) advance(s *slot, v verdict) {
	switch {
	case m.doomed[s.running] && s.at == "set":
		v = crashBefore
	case v == lost && s.at[:3] != "put":
		v = pass
	}
	before := len(m.world.published)
	announced := s.at == "put "+contracts.CollectionClaimsSnapshots && m.unnoted()
	s.advance(m.t, v)
	died := v == crashBefore || v == crashAfter
	m.crashed = m.crashed || died && (announced || len(m.world.published) > before)
}

// unnoted reports that the newest message's note lacks.
func (m *model) unnoted() bool {
	n := len(m.world.published)
	return n > 0 && signalIn(m.t, m.world.published[n-1]).ClaimsVersion > m.snapshot().Announced
}

func (m *model) snapshot() Snapshot { return readSnapshot(m.world.docs[snapshotRef("acc-1")]) }

// finish lets everything end, without a crash.
func (m *model) finish() {
	for _, s := range m.slots {
		for s.running != nil {
			m.advance(s, pass)
		}
	}
	for _, r := range m.lasting() {
		for !r.acked {
			m.run(r)
		}
	}
	m.judge(m.world.users["acc-1"]["claimsVersion"]) // nobody comes again by himself
	// What a doomed one left behind in the snapshot stays until there is news.
	last := &modelRecord{version: int64(len(m.records) + 1), parts: map[string]any{"policies": []string{"last"}}}
	for m.records = append(m.records, last); !last.acked; {
		m.run(last)
	}
}

// lasting are the records that are carried out in the end.
func (m *model) lasting() []*modelRecord {
	return slices.DeleteFunc(slices.Clone(m.records), func(r *modelRecord) bool { return m.doomed[r] })
}

func (m *model) run(r *modelRecord) {
	s := m.slots[0]
	for s.start(m.t, r); s.running != nil; {
		m.advance(s, pass)
	}
}

// want is what the claims must end as: for each part its highest version's.
func (m *model) want() map[string]any {
	want := maps.Clone(m.others)
	best := map[string]int64{}
	take := func(name string, value any, version int64) {
		if old, ok := best[name]; !ok || version > old {
			best[name], want[name] = version, value
		}
	}
	documented, _ := m.account["aggregateVersion"].(int64)
	if m.account != nil {
		take("roles", m.account["roles"], documented)
	}
	for _, r := range m.lasting() {
		for name, v := range r.parts {
			take(name, v, r.version)
		}
		if len(r.parts) == 0 {
			take("roles", m.account["roles"], max(documented, r.version))
		}
	}
	further, _ := want["claims"].(map[string]int)
	delete(want, "claims")
	for name, v := range further {
		want[name] = v
	}
	return want
}

// judge holds the user's claims to what they must end as.
func (m *model) judge(version any) {
	want := m.want()
	want["claimsVersion"] = version
	if got := m.world.users["acc-1"]; canonical(got) != canonical(want) {
		m.t.Errorf("claims are %s, want %s", canonical(got), canonical(want))
	}
}

func (m *model) check() {
	s := m.snapshot()
	m.judge(s.ClaimsVersion)
	lasting := m.lasting()
	if highest := lasting[len(lasting)-1].version; s.ClaimsVersion < highest {
		m.t.Errorf("claimsVersion is %d, below the highest version, %d", s.ClaimsVersion, highest)
	}
	signal := readSignal(m.world.docs[signalRef("acc-1")])
	if s.Announced != s.ClaimsVersion || signal.ClaimsVersion != s.ClaimsVersion || s.Revoked != s.RevokeFor || m.world.revoked == 0 && s.RevokeFor > 0 {
		m.t.Errorf("left undone: %+v, signal %+v, revoked %d times", s, signal, m.world.revoked)
	}
	if m.world.revoked > 0 && s.RevokeFor == 0 && !m.overlapped { // else it is forgotten with a proposal that another overtook
		m.t.Errorf("tokens were revoked %d times, without a cause", m.world.revoked)
	}
	if m.revokes && m.world.revoked == 0 && takesAway(Parts{}, s.Parts, m.others) {
		m.t.Errorf("roles that the user had, %v, were taken away, and no tokens revoked", m.others["roles"])
	}
	messages := map[int64]message{}
	for i, p := range m.world.published {
		version := signalIn(m.t, p).ClaimsVersion
		if held, _ := m.world.held[i].(float64); int64(held) < version && len(m.slots) == 1 {
			m.t.Errorf("version %d was published when the user had %v", version, held)
		}
		if old, ok := messages[version]; ok {
			if diff := cmp.Diff(old, p, cmp.AllowUnexported(message{})); diff != "" {
				m.t.Errorf("two messages of version %d differ: %s", version, diff)
			}
			if !m.crashed && !m.overlapped {
				m.t.Errorf("version %d was published twice, without a cause", version)
			}
		}
		messages[version] = p
	}
	if _, ok := messages[s.ClaimsVersion]; !ok {
		m.t.Errorf("version %d was never published", s.ClaimsVersion)
	}
	writes, published := m.world.writes, len(m.world.published)
	for _, r := range lasting {
		m.run(r)
	}
	if m.world.writes != writes || len(m.world.published) != published {
		m.t.Errorf("repeats wrote %d times and published %d messages", m.world.writes-writes, len(m.world.published)-published)
	}
}

func signalIn(t tester, p message) Signal {
	var s Signal
	if err := json.Unmarshal([]byte(p.data), &s); err != nil {
		t.Fatal(err)
	}
	if p.key != s.AccountID || p.attributes["claimsVersion"] != fmt.Sprint(s.ClaimsVersion) || p.attributes["eventId"] != s.EventID {
		t.Errorf("message %+v disagrees with itself", p)
	}
	return s
}

// TestModel runs random records of one account in any order and again, over two
// handlers that take turns at every call, with deaths at any of them. Whatever
// happened, the account ends on the highest version of each part, without what was given up.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			m.step()
		}
		m.finish()
		m.check()
	})
}
