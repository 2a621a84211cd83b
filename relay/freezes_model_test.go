package relay

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/lanes"
)

// TestFreezesModel plays the view of one aggregate's freeze against Firestore:
// it is frozen, released and let go by others and by this relay, while a watch
// tells of it late. Whatever the order, the view comes to what stands, its
// records wait while a burial is on its way, and what this relay froze stays
// frozen however old the news are that arrive afterwards.
func TestFreezesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newFreezesModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"freeze":  func(*rapid.T) { m.write(dlq.Frozen) },
			"release": m.release,
			"end":     m.end,
			"see":     func(*rapid.T) { m.seen = append(m.seen, m.server.all()) },
			"tell":    m.tell,
			"look":    m.lookWhile,
			"bury":    m.bury,
			"die":     m.die,
			"commit":  m.commit,
			"hear":    m.hear,
			"void":    m.void,
			"thaw":    func(*rapid.T) { m.thaw() },
			"":        m.check,
		})
		m.finish(t)
	})
}

// freezeServer is the one freeze document in Firestore.
type freezeServer struct {
	dlq.Store
	clock  time.Time
	freeze *dlq.Freeze // nil: there is none
	during func()      // happens once while a read is on its way back; nil: nothing does
}

func (s *freezeServer) tick() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

func (s *freezeServer) all() []*dlq.Freeze {
	if s.freeze == nil {
		return nil
	}
	return []*dlq.Freeze{s.freeze}
}

func (s *freezeServer) Get(_ context.Context, _ string, ids ...string) ([]dlq.Doc, error) {
	docs := make([]dlq.Doc, len(ids))
	for i, id := range ids {
		docs[i] = dlq.Doc{ID: id}
		if f := s.freeze; f != nil {
			docs[i].UpdateTime = f.UpdateTime
			docs[i].Fields = map[string]any{contracts.FieldAggregateID: f.AggregateID, dlq.FreezeFieldState: string(f.State)}
		}
	}
	if during := s.during; during != nil {
		s.during = nil
		during()
	}
	return docs, nil
}

type freezesModel struct {
	server *freezeServer
	view   *freezes
	outbox *outbox
	seen   [][]*dlq.Freeze // what the watch saw and has not told yet
	dying  int             // burials begun
	voided bool            // one of them was void, and what stands was not read since
	wrote  []*dlq.Freeze   // burials written, of which the relay has not heard
	mine   time.Time       // when the freeze that this relay wrote and heard of last was written; zero: it is gone
}

const modelAggregate = "x"

func newFreezesModel(t *rapid.T) *freezesModel {
	m := &freezesModel{server: &freezeServer{clock: time.Unix(1000, 0)}}
	queue, err := dlq.New(dlq.Config{Store: m.server, Catalog: &contracts.Catalog{}})
	if err != nil {
		t.Fatal(err)
	}
	metrics := &Metrics{frozen: prometheus.NewGauge(prometheus.GaugeOpts{Name: "frozen"}), thaws: prometheus.NewCounter(prometheus.CounterOpts{Name: "thaws"})}
	m.view = newFreezes(queue, zap.NewNop(), metrics)
	m.outbox = &outbox{
		spec: &contracts.Outbox{Name: "box"}, ledger: newLedger(), thaws: newThaws(), freezes: m.view, log: zap.NewNop(),
		pools: make(map[contracts.Lane]*lanes.Pool),
	}
	for _, lane := range contracts.Lanes() {
		pool, err := lanes.New(lanes.Config{
			Lane: lane, Policy: contracts.LanePolicy{SLA: time.Second, Workers: 1, Run: 1},
			Handler: func(context.Context, []*lanes.Task) []lanes.Verdict { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		m.outbox.pools[lane] = pool
	}
	m.view.outboxes = []*outbox{m.outbox}
	return m
}

func (m *freezesModel) standing() standing { return m.outbox.ledger.standing(modelAggregate) }

func (m *freezesModel) write(state dlq.FreezeState) *dlq.Freeze {
	m.server.freeze = &dlq.Freeze{AggregateID: modelAggregate, State: state, UpdateTime: m.server.tick()}
	return m.server.freeze
}

func (m *freezesModel) release(t *rapid.T) {
	if m.server.freeze == nil {
		t.Skip("not frozen")
	}
	m.write(dlq.Releasing)
}

func (m *freezesModel) end(t *rapid.T) {
	if m.server.freeze == nil || m.server.freeze.State != dlq.Releasing {
		t.Skip("not releasing")
	}
	m.server.tick()
	m.server.freeze = nil
	m.mine = time.Time{}
}

// tell has the watch tell the oldest that it saw.
func (m *freezesModel) tell(t *rapid.T) {
	if len(m.seen) == 0 {
		t.Skip("nothing seen")
	}
	m.view.told(m.seen[0])
	m.seen = m.seen[1:]
}

func (m *freezesModel) look() {
	if err := m.view.settleDoubts(context.Background()); err != nil {
		panic(err)
	}
	m.voided = false
}

// lookWhile looks while a whole burial happens, or nothing.
func (m *freezesModel) lookWhile(t *rapid.T) {
	if rapid.Bool().Draw(t, "a burial happens meanwhile") {
		m.server.during = func() { m.bury(t) }
	}
	m.look()
	m.server.during = nil
}

// bury is a burial from its beginning to its end.
func (m *freezesModel) bury(t *rapid.T) {
	m.die(t)
	m.commit(t)
	for len(m.wrote) > 0 {
		m.hear(t)
	}
}

func (m *freezesModel) die(*rapid.T) {
	m.view.dying(modelAggregate)
	m.dying++
}

// commit writes a burial; hear tells the relay of it.
func (m *freezesModel) commit(t *rapid.T) {
	if m.dying == len(m.wrote) {
		t.Skip("nothing dies")
	}
	m.wrote = append(m.wrote, m.write(dlq.Frozen))
}

func (m *freezesModel) hear(t *rapid.T) {
	if len(m.wrote) == 0 {
		t.Skip("nothing written")
	}
	m.view.buried(m.wrote[0])
	if f := m.server.freeze; f != nil && !f.UpdateTime.Before(m.wrote[0].UpdateTime) {
		m.mine = m.wrote[0].UpdateTime
	}
	m.wrote, m.dying = m.wrote[1:], m.dying-1
}

// void ends a burial that somebody else made pointless.
func (m *freezesModel) void(t *rapid.T) {
	if m.dying == len(m.wrote) {
		t.Skip("nothing dies")
	}
	m.view.notBuried(modelAggregate)
	m.dying--
	m.voided = true
}

func (m *freezesModel) thaw() {
	for _, aggregateID := range m.outbox.thaws.take() {
		if m.standing() == standThawing {
			m.view.thawed(m.outbox, aggregateID, nil)
		}
	}
}

func (m *freezesModel) check(t *rapid.T) {
	s := m.standing()
	if (m.dying > 0 || m.voided) && s == standFree {
		t.Fatalf("free while a burial is on its way, or nobody knows what became of it")
	}
	known := []standing{standFrozen, standReleasing}
	if !m.mine.IsZero() && m.server.freeze != nil && !slices.Contains(known, s) {
		t.Fatalf("%v, though this relay froze it and nobody let it go", s)
	}
	if !m.mine.IsZero() && m.server.freeze != nil && m.server.freeze.UpdateTime.Equal(m.mine) && s != standFrozen {
		t.Fatalf("%v, though what this relay wrote still stands", s)
	}
}

// finish tells everything, and compares.
func (m *freezesModel) finish(t *rapid.T) {
	for len(m.wrote) > 0 {
		m.hear(t)
	}
	for m.dying > 0 {
		m.void(t)
	}
	for _, seen := range append(m.seen, m.server.all()) {
		m.view.told(seen)
	}
	m.look()
	m.thaw()
	want := standFree
	if f := m.server.freeze; f != nil {
		want = map[dlq.FreezeState]standing{dlq.Frozen: standFrozen, dlq.Releasing: standReleasing}[f.State]
	}
	if got := m.standing(); got != want {
		t.Fatalf("got %v at the end, want %v", got, want)
	}
	if want == standFree && m.view.size() > 0 {
		t.Fatalf("%d aggregates are still kept in mind", m.view.size())
	}
}
