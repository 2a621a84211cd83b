package main

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/rig"
	"outboxrelay/dlq"
)

// operator decides on dead letters and freezes through whichever relay answers,
// as people do: most are replayed and released, some given up, some left alone.
// What it decides on each hangs on the seed alone.
type operator struct {
	fleet   *fleet
	seed    uint64
	done    atomic.Int64 // decisions that were taken
	refused atomic.Int64 // asked for and refused, or unanswered
	idle    atomic.Int64 // looks in a row that found nothing to decide

	mu       sync.Mutex
	released map[string]bool // aggregates whose release it asked for, whatever the answer
}

const (
	lookEvery  = 300 * time.Millisecond // pause between two looks
	lookWithin = 3 * time.Second        // of one look: the relay may be stopped
)

// Who decides. Another than the one who authorizes asks for the replay.
const (
	tokenOperator = "dev-operator"
	tokenSecurity = "dev-security"
)

const decisionReason = "the run decided so"

// run looks and decides until ctx ends.
func (o *operator) run(ctx context.Context) error {
	for n := 0; ; n++ {
		members := o.fleet.members()
		if len(members) > 0 && o.look(ctx, members[n%len(members)].url) == 0 {
			o.idle.Add(1)
		} else {
			o.idle.Store(0)
		}
		if !rig.Sleep(ctx, lookEvery) {
			return nil
		}
	}
}

// look decides on all that one relay lists, and returns how much of it there
// was to decide; more than 0 when it could not look.
func (o *operator) look(ctx context.Context, at string) int {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	ask, err := adminapi.New(adminapi.Config{URL: at, Token: adminapi.StaticToken(tokenOperator)})
	if err != nil {
		return 1
	}
	defer ask.Close()
	secure, err := adminapi.New(adminapi.Config{URL: at, Token: adminapi.StaticToken(tokenSecurity)})
	if err != nil {
		return 1
	}
	defer secure.Close()
	open, moved := 0, 0
	for page := (url.Values{"open": {"true"}, "limit": {"200"}}); ; {
		var list adminapi.List[adminapi.Item]
		if _, err := ask.Get(ctx, "/dlq", page, &list); err != nil {
			return 1
		}
		for _, item := range list.Items {
			if o.decide(ctx, ask, secure, item) {
				moved++
			}
			if item.Replaying != nil {
				open++
			}
		}
		if list.NextPageToken == "" {
			break
		}
		page.Set("pageToken", list.NextPageToken)
	}
	var freezes adminapi.List[adminapi.Freeze]
	if _, err := ask.Get(ctx, "/freezes", url.Values{"limit": {"200"}}, &freezes); err != nil {
		return 1
	}
	for _, f := range freezes.Items {
		if f.State == dlq.Releasing {
			open++
		} else if o.chance("release", f.AggregateID+strconv.Itoa(len(f.DeadLetters))) < 0.8 {
			o.mu.Lock()
			o.released[f.AggregateID] = true
			o.mu.Unlock()
			if o.post(ctx, secure, "freezes", f.AggregateID, "release") {
				moved++
			}
		}
	}
	return open + moved
}

// decide takes the next decision on a dead letter, if there is one to take, and
// reports whether it was taken.
func (o *operator) decide(ctx context.Context, ask, secure *adminapi.Client, item adminapi.Item) bool {
	if item.Replaying != nil {
		return false
	}
	broken := item.Reason == contracts.ContractViolation // a replay cannot mend it
	chance := o.chance("decide", item.ID)
	discard := chance < 0.15 || broken && chance < 0.5
	leave := !discard && (broken || chance > 0.85)
	switch {
	case leave:
	case item.State == contracts.DeadAwaitingReview && discard:
		return o.post(ctx, ask, "dlq", item.ID, "discard")
	case item.State == contracts.DeadAwaitingReview:
		return o.post(ctx, ask, "dlq", item.ID, "replay")
	case item.State == contracts.DeadBlocked && discard:
		return o.post(ctx, secure, "dlq", item.ID, "discard")
	case item.State == contracts.DeadBlocked:
		return o.post(ctx, secure, "dlq", item.ID, "authorize")
	case item.State == contracts.DeadAuthorized:
		return o.post(ctx, ask, "dlq", item.ID, "replay")
	}
	return false
}

// chance is uniform in [0,1), the same for the same question.
func (o *operator) chance(question, subject string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(question + " " + subject)) // never fails
	return rand.New(rand.NewPCG(o.seed, h.Sum64())).Float64()
}

// post asks for a decision. Refusals are no failure: an older dead letter may
// have to go first, and the relay may be gone by now. The next look asks again.
func (o *operator) post(ctx context.Context, c *adminapi.Client, path ...string) bool {
	_, err := c.Post(ctx, adminapi.Path(path...), adminapi.Why{Reason: decisionReason}, nil)
	if err == nil {
		o.done.Add(1)
		return true
	}
	o.refused.Add(1)
	p, ok := errors.AsType[*adminapi.Problem](err)
	return !ok || p.Status >= http.StatusInternalServerError // then it is still to be decided
}
