package lanes

import (
	"context"
	"fmt"
	"time"
)

// Action is what becomes of a task after a run.
type Action int

// The four ends of a task's run.
const (
	Done  Action = iota // acknowledged everywhere: leaves, and its SLA is judged
	Drop                // leaves without such an end (deferred, dead-lettered): its SLA is not judged
	Again               // still to do, without a wait
	Retry               // still to do, not before Verdict.At unless woken
)

// Verdict is the handler's word on one task.
type Verdict struct {
	Action Action
	At     time.Time // Retry only; zero or past: now
	On     string    // Retry only: Wake(On) ends the wait early; empty: nothing does
}

// Handler does the work of a run: consecutive tasks of one aggregate in version
// order. It returns one verdict for each, in the same order, and does not
// change run. It is called by several workers at once, never by two for one
// aggregate.
//
// A Retry holds back every higher version of the aggregate, whatever their own
// verdicts, until its wait ends. Each task that is told to Retry keeps a wait
// of its own.
//
// A panic, a wrong number of verdicts or an unknown Action is a fault of the
// handler: it is logged and counted, and the whole run is tried again later.
type Handler func(ctx context.Context, run []*Task) []Verdict

// faultDelay is the wait of a run whose handler was at fault. Long enough not
// to fill the log, short enough that a passing fault costs the slower lanes
// nothing of their SLA.
const faultDelay = time.Second

// faultIn names what is wrong with the verdicts on a run of n tasks, or
// returns "".
func faultIn(verdicts []Verdict, n int) string {
	if len(verdicts) != n {
		return fmt.Sprintf("got %d verdicts, want %d", len(verdicts), n)
	}
	for i, v := range verdicts {
		if v.Action < Done || v.Action > Retry {
			return fmt.Sprintf("verdict %d has unknown action %d", i, v.Action)
		}
	}
	return ""
}
