package simulation

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// operator is who decides about dead letters, freezes and lanes.
var operatorRole = dlq.Actor{Name: "operator", Role: dlq.Security}

// operate does what operators do, each act at its time.
func (w *world) operate(queue *dlq.Queue) {
	var acts sync.WaitGroup
	for _, a := range w.plan.Acts {
		acts.Go(func() {
			time.Sleep(time.Until(w.began.Add(a.At)))
			w.act(queue, a)
		})
	}
	acts.Wait()
}

func (w *world) act(queue *dlq.Queue, a act) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	w.count("act: " + a.What)
	lane := contracts.Lanes()[a.N%3]
	switch a.What {
	case actPause, actResume:
		_, err := queue.SetLane(ctx, lane, a.What == actPause, operatorRole, "simulated")
		w.note("operator", a.What, "", string(lane)+outcomeOf(err))
	case actRelease:
		if frozen := w.ids(contracts.CollectionFrozen, nil); len(frozen) > 0 {
			w.release(ctx, queue, frozen[a.N%uint64(len(frozen))])
		}
	default:
		wanted := func(d *document) bool { return wants(a.What, d) }
		if letters := w.ids(contracts.CollectionDeadLetters, wanted); len(letters) > 0 {
			id := letters[a.N%uint64(len(letters))]
			_, err := queue.Decide(ctx, id, dlq.Decide{Action: dlq.Action(a.What), Actor: operatorRole, Reason: "simulated"})
			w.note("operator", a.What, w.judge.pathOfLetter(id), outcomeOf(err))
		}
	}
}

func outcomeOf(err error) string {
	if err != nil {
		return ": " + err.Error()
	}
	return ""
}

// wants reports whether it makes sense to do that to a dead letter.
func wants(what string, d *document) bool {
	state := contracts.DeadState(textOf(d.fields[contracts.DeadFieldState]))
	switch what {
	case actReplay:
		return state == contracts.DeadScheduled || state == contracts.DeadAwaitingReview || state == contracts.DeadAuthorized
	case actAuthorize:
		return state == contracts.DeadBlocked
	case actWithdraw:
		return d.fields[contracts.DeadFieldReplaying] != nil || state == contracts.DeadAuthorized
	case actDiscard:
		return dlq.Open(state)
	}
	return false
}

func (w *world) release(ctx context.Context, queue *dlq.Queue, aggregate string) {
	_, err := queue.Release(ctx, aggregate, dlq.Release{Actor: operatorRole, Reason: "simulated"})
	w.note("operator", "release", "", aggregate+outcomeOf(err))
}

// ids lists the documents of a collection that are wanted, in order.
func (w *world) ids(collection string, wanted func(*document) bool) []string {
	var out []string
	w.db.read(collection, func(docs map[string]*document) {
		for id, d := range docs {
			if wanted == nil || wanted(d) {
				out = append(out, id)
			}
		}
	})
	slices.SortFunc(out, cmp.Compare)
	return out
}

// tidy is what operators do at the end: no lane is paused any more, and in some
// worlds nothing is frozen.
func (w *world) tidy(queue *dlq.Queue) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, lane := range contracts.Lanes() {
		if _, err := queue.SetLane(ctx, lane, false, operatorRole, "simulated"); err == nil {
			w.note("operator", "resume", "", string(lane))
		}
	}
	if w.plan.Thaw {
		for _, aggregate := range w.ids(contracts.CollectionFrozen, nil) {
			w.release(ctx, queue, aggregate)
		}
	}
}
