package relay

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"pgregory.net/rapid"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/lanes"
	"outboxrelay/relay/feed"
)

// TestFreezesModel plays the view of one aggregate's freeze against Firestore:
// it is frozen, released and let go by others and by this relay, while a watch
// tells of it late and several looks are under way at once, as the follower's
// and those of refused holds are. Whatever the order, the view comes to what
// stands, its records wait while a burial is on its way, and what this relay
// froze stays frozen however old the news are that arrive afterwards.
func TestFreezesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newFreezesModel(t)
		defer m.close()
		t.Repeat(map[string]func(*rapid.T){
			"freeze":  func(*rapid.T) { m.write(dlq.Frozen) },
			"release": m.release,
			"end":     m.end,
			"see":     func(*rapid.T) { m.seen = append(m.seen, m.server.all()) },
			"tell":    m.tell,
			"doubts":  func(*rapid.T) { m.begin(m.view.settleDoubts) },
			"refused": func(*rapid.T) { m.begin(m.refusedHold) },
			"answer":  m.answer,
			"fail":    m.fail,
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

// TestOverlappingLooksEndAVoidBurialOnce has two looks under way at once, both
// begun after a burial was void. Another one that is on its way keeps the
// aggregate's records waiting, whether it began before the looks or in between
// their ends.
func TestOverlappingLooksEndAVoidBurialOnce(t *testing.T) {
	for name, between := range map[string]bool{"it began before": false, "it began in between": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { // whichever of them ends first
				m := newFreezesModel(t)
				defer m.close()
				m.die(t)
				if !between {
					m.die(t)
				}
				m.void(t)
				m.begin(m.view.settleDoubts)
				m.begin(m.refusedHold)
				m.answer(t)
				if between {
					m.die(t)
				}
				m.answer(t)
				m.check(t)
				m.finish(t)
			})
		})
	}
}

// freezeServer is the one freeze document in Firestore.
type freezeServer struct {
	dlq.Store
	clock  time.Time
	freeze *dlq.Freeze // nil: there is none
	read   *modelRead  // the answer to the next read is kept back as this; nil: it comes at once
}

// modelRead is a read whose answer is on its way.
type modelRead struct {
	taken  chan struct{} // closed once Firestore has read
	answer chan error    // nil: the answer arrives
	over   chan error    // what the reader returned
	unread int           // as many voids had there been when it began
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
	if r := s.read; r != nil {
		s.read = nil
		close(r.taken)
		if err := <-r.answer; err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// modelRecords is an outbox without records.
type modelRecords struct{ Store }

func (modelRecords) Page(context.Context, Scan) ([]Doc, error) { return nil, nil }

type freezesModel struct {
	server *freezeServer
	view   *freezes
	outbox *outbox
	seen   [][]*dlq.Freeze // what the watch saw and has not told yet
	reads  []*modelRead    // under way
	dying  int             // burials begun
	voids  int             // of them, such as were void
	known  int             // of these, such as a read that began afterwards told of
	wrote  []*dlq.Freeze   // burials written, of which the relay has not heard
	mine   time.Time       // when the freeze that this relay wrote and heard of last was written; zero: it is gone
	ended  time.Time       // when a freeze was let go last
}

const modelAggregate = "x"

func newFreezesModel(t rapid.TB) *freezesModel {
	m := &freezesModel{server: &freezeServer{clock: time.Unix(1000, 0)}}
	queue, err := dlq.New(dlq.Config{Store: m.server, Catalog: &contracts.Catalog{}})
	if err != nil {
		t.Fatal(err)
	}
	metrics := &Metrics{frozen: prometheus.NewGauge(prometheus.GaugeOpts{Name: "frozen"}), thaws: prometheus.NewCounter(prometheus.CounterOpts{Name: "thaws"})}
	m.view = newFreezes(queue, zap.NewNop(), metrics)
	m.outbox = &outbox{
		spec: &contracts.Outbox{Name: "box"}, ledger: newLedger(), thaws: newThaws(), freezes: m.view, log: zap.NewNop(),
		pools: make(map[contracts.Lane]*lanes.Pool), store: modelRecords{}, burials: &burials{},
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

func (m *freezesModel) standing() feed.Standing { return m.outbox.ledger.standing(modelAggregate) }

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
	m.ended = m.server.tick()
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

// begin has look read what stands, and keeps the answer back.
func (m *freezesModel) begin(look func(context.Context) error) {
	r := &modelRead{taken: make(chan struct{}), answer: make(chan error), over: make(chan error, 1), unread: m.voids}
	m.server.read = r
	go func() { r.over <- look(context.Background()) }()
	select {
	case <-r.taken:
		m.reads = append(m.reads, r)
	case err := <-r.over: // there was nothing to read
		m.server.read = nil
		if err != nil {
			panic(err)
		}
	}
}

// refusedHold looks as the settler of a refused hold does.
func (m *freezesModel) refusedHold(ctx context.Context) error {
	return m.view.look(ctx, modelAggregate)
}

// endRead has the answer of one of the reads arrive, or err.
func (m *freezesModel) endRead(t *rapid.T, err error) {
	if len(m.reads) == 0 {
		t.Skip("nothing is being read")
	}
	n := rapid.IntRange(0, len(m.reads)-1).Draw(t, "read")
	r := m.reads[n]
	m.reads = slices.Delete(m.reads, n, n+1)
	r.answer <- err
	if got := <-r.over; !errors.Is(got, err) {
		t.Fatalf("a look whose read ended with %v returned %v", err, got)
	}
	if err == nil {
		m.known = max(m.known, r.unread)
	}
}

func (m *freezesModel) answer(t *rapid.T) { m.endRead(t, nil) }

func (m *freezesModel) fail(t *rapid.T) { m.endRead(t, context.DeadlineExceeded) }

// close lets the reads end that a failed check left under way.
func (m *freezesModel) close() {
	for _, r := range m.reads {
		r.answer <- context.Canceled
		<-r.over
	}
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
	m.outbox.buried(m.dead(), m.wrote[0].UpdateTime)
	if written := m.wrote[0].UpdateTime; m.server.freeze != nil && written.After(m.ended) {
		m.mine = written
	}
	m.wrote, m.dying = m.wrote[1:], m.dying-1
}

// void ends a burial that somebody else made pointless.
func (m *freezesModel) void(t *rapid.T) {
	if m.dying == len(m.wrote) {
		t.Skip("nothing dies")
	}
	m.outbox.notBuried(m.dead())
	m.dying--
	m.voids++
}

// dead is the settlement of a record that freezes the aggregate.
func (m *freezesModel) dead() *settlement {
	item := dlq.Item{Tier: contracts.SecurityBlock, AggregateID: modelAggregate}
	return &settlement{kind: settleDead, dead: &deadLetter{item: item}}
}

func (m *freezesModel) thaw() {
	m.outbox.thawEach(context.Background(), m.outbox.thaws.take())
}

func (m *freezesModel) check(t *rapid.T) {
	s := m.standing()
	if (m.dying > 0 || m.voids > m.known) && s == feed.Free {
		t.Fatalf("free while a burial is on its way, or nobody knows what became of it")
	}
	known := []feed.Standing{feed.Frozen, feed.Releasing}
	if !m.mine.IsZero() && m.server.freeze != nil && !slices.Contains(known, s) {
		t.Fatalf("%v, though this relay froze it and nobody let it go", s)
	}
	if !m.mine.IsZero() && m.server.freeze != nil && m.server.freeze.UpdateTime.Equal(m.mine) && s != feed.Frozen {
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
	for len(m.reads) > 0 {
		m.answer(t)
	}
	for _, seen := range append(m.seen, m.server.all()) {
		m.view.told(seen)
	}
	if err := m.view.settleDoubts(context.Background()); err != nil {
		t.Fatal(err)
	}
	m.thaw()
	want := feed.Free
	if f := m.server.freeze; f != nil {
		want = map[dlq.FreezeState]feed.Standing{dlq.Frozen: feed.Frozen, dlq.Releasing: feed.Releasing}[f.State]
	}
	if got := m.standing(); got != want {
		t.Fatalf("got %v at the end, want %v", got, want)
	}
	if want == feed.Free && m.view.size() > 0 {
		t.Fatalf("%d aggregates are still kept in mind", m.view.size())
	}
}
