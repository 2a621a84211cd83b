package relay

import (
	"errors"
	"testing"
	"time"

	"outboxrelay/contracts"
)

// TestProofIsDue: a listener owes a proof from its beginning, and then from when one is
// asked; one that is closed owes none, unless pages cannot be read in its place.
func TestProofIsDue(t *testing.T) {
	start := time.Unix(1_000, 0)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	failed := errors.New("failed")
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		past func(s *listenerState)
		want time.Duration // 100 s after the start
	}{
		"never begun, its outbox taken up": {func(*listenerState) {}, 100 * time.Second},
		"begun, and never proven":          {func(s *listenerState) { s.began(after(30)) }, 70 * time.Second},
		"proven":                           {func(s *listenerState) { s.began(start); s.proven(after(84), after(85)) }, 0},
		"proven long ago, and not asked":   {func(s *listenerState) { s.began(start); s.proven(after(19), after(20)) }, 0},
		"asked twice": {func(s *listenerState) {
			s.began(start)
			s.proven(after(19), after(20))
			s.ask(after(40))
			s.ask(after(60))
		}, 60 * time.Second},
		"asked, touched and seen": {func(s *listenerState) {
			s.began(start)
			s.ask(after(40))
			s.owes(after(41))
			s.proven(after(41), after(42))
		}, 0},
		"asked again after it was touched": {func(s *listenerState) {
			s.began(start)
			s.owes(after(41))
			s.proven(after(41), after(42))
			s.owes(after(50))
			s.ask(after(70))
			s.proven(after(50), after(71))
		}, 0},
		"touched, and never seen":         {func(s *listenerState) { s.began(start); s.proven(after(19), after(20)); s.owes(after(41)) }, 59 * time.Second},
		"asked, and closed":               {func(s *listenerState) { s.began(start); s.ask(after(40)); s.closed() }, 0},
		"proven before it was begun anew": {func(s *listenerState) { s.proven(after(20), after(20)); s.began(after(90)) }, 10 * time.Second},
		"closed, while pages are read":    {func(s *listenerState) { s.began(start); s.closed() }, 0},
		"closed, and pages fail":          {func(s *listenerState) { s.closed(); s.paged(after(40), failed); s.paged(after(50), failed) }, 60 * time.Second},
		"closed, and pages fail no more":  {func(s *listenerState) { s.closed(); s.paged(after(40), failed); s.paged(after(50), nil) }, 0},
		"closed, and pages fail again after that": {func(s *listenerState) {
			s.closed()
			s.paged(after(40), failed)
			s.paged(after(50), nil)
			s.paged(after(99), failed)
		}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			h := &outboxHealth{metrics: newMetrics(nil, catalog), name: "accOutbox"}
			s := &listenerState{health: h, name: listenerStrays, since: start, wanted: make(chan struct{}, 1)}
			c.past(s)
			if got := s.dueLocked(after(100)); got != c.want {
				t.Errorf("due for %v, want %v", got, c.want)
			}
			// Whatever its stream says, for a minute.
			for _, state := range []string{stateStarting, stateAlive, statePaging} {
				s.state = state
				got := s.healthLocked(after(100))
				late := c.want > time.Minute
				if works := !late && state != stateStarting; got.works() != works || (got.State == stateUnproven) != late {
					t.Errorf("%s, and due for %v, it is told as %s", state, c.want, got.State)
				}
			}
		})
	}
}

// TestCountOfWhatIsPending: canaries are told from records, unless one came to stand
// while it was counted: that count says nothing for certain, and is not relied on.
func TestCountOfWhatIsPending(t *testing.T) {
	start := time.Unix(1_000, 0)
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	scans := []Scan{{Kind: ScanUnordered}}
	for name, c := range map[string]struct {
		past           func(h *outboxHealth, s *listenerState)
		counted        int64 // from 50 s after the start
		nothing, known bool
	}{
		"nothing but the canary":             {func(_ *outboxHealth, s *listenerState) { s.touched(after(10)) }, 1, true, true},
		"a record beside the canary":         {func(_ *outboxHealth, s *listenerState) { s.touched(after(10)) }, 2, false, true},
		"not even the canary":                {func(_ *outboxHealth, s *listenerState) { s.touched(after(10)) }, 0, false, true},
		"the canary of an owner before":      {func(*outboxHealth, *listenerState) {}, 1, false, true},
		"a record, and the canary came then": {func(_ *outboxHealth, s *listenerState) { s.touched(after(51)) }, 1, false, false},
		"touched again":                      {func(_ *outboxHealth, s *listenerState) { s.touched(after(10)); s.touched(after(51)) }, 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := &outboxHealth{metrics: newMetrics(nil, catalog), name: "accOutbox"}
			s := &listenerState{health: h, name: listenerStrays, wanted: make(chan struct{}, 1)}
			h.listeners = map[string]*listenerState{s.name: s}
			c.past(h, s)
			if got := h.counted(after(50), scans, []int64{c.counted}); got != c.nothing {
				t.Errorf("nothing is pending: %v, want %v", got, c.nothing)
			}
			if nothing, known := h.nothing(after(40)); nothing != c.nothing || known != c.known {
				t.Errorf("the count is relied on: %v, %v, want %v, %v", nothing, known, c.nothing, c.known)
			}
			s.canary = false
			s.touched(after(60))
			if _, known := h.nothing(after(40)); known {
				t.Error("the count is relied on though a canary came to stand since")
			}
		})
	}
}
