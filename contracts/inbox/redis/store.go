package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/contracts"
	"outboxrelay/contracts/inbox"
)

const (
	processedPrefix = "pf:evt:processed:"
	eventPrefix     = "pf:evt:inbox:"
	openPrefix      = "pf:evt:open:"
)

// Store implements inbox.Store.
type Store struct{ client goredis.Scripter }

var _ inbox.Store = (*Store)(nil)

// New returns a Store over client, which the caller closes once nothing uses the Store any
// more. A client that repeats calls by itself does no harm.
func New(client goredis.Scripter) *Store { return &Store{client} }

func keys(consumer, eventID, aggregateID string) []string {
	return []string{processedPrefix + consumer + ":" + eventID, eventPrefix + consumer + ":" + eventID, openPrefix + consumer + ":" + aggregateID}
}

var verdicts = map[string]inbox.Verdict{
	"claimed": inbox.Claimed, "processed": inbox.Processed, "dead": inbox.Dead, "busy": inbox.Busy, "early": inbox.Early, "behind": inbox.Behind,
}

// Claim implements inbox.Store.
func (s *Store) Claim(ctx context.Context, ask inbox.Ask) (inbox.Claim, error) {
	replay := "0"
	if ask.Replay {
		replay = "1"
	}
	answer, err := claimScript.Run(ctx, s.client, keys(ask.Consumer, ask.EventID, ask.AggregateID), ask.Token, millis(ask.Lease), millis(ask.Keep),
		replay, fmt.Sprintf("%020d", ask.Version), ask.EventID, eventPrefix+ask.Consumer+":").StringSlice()
	if err != nil {
		return inbox.Claim{}, fmt.Errorf("claim event %s in Redis: %w", ask.EventID, err)
	}
	c, err := claimOf(answer)
	if err != nil {
		return inbox.Claim{}, fmt.Errorf("claim event %s in Redis: %w", ask.EventID, err)
	}
	return c, nil
}

func claimOf(answer []string) (inbox.Claim, error) {
	var c inbox.Claim
	if len(answer) < 5 || verdicts[answer[0]] == 0 {
		return c, fmt.Errorf("the answer is %q", answer)
	}
	wait, err := strconv.ParseInt(answer[1], 10, 64)
	if err != nil {
		return c, err
	}
	c.Verdict, c.Wait, c.Failing = verdicts[answer[0]], time.Duration(wait)*time.Millisecond, answer[2] == "1"
	if c.Failures, err = strconv.Atoi(answer[3]); err != nil {
		return c, err
	}
	if c.Takeovers, err = strconv.Atoi(answer[4]); err != nil {
		return c, err
	}
	for _, text := range answer[5:] {
		var e contracts.AttemptError
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return c, fmt.Errorf("read its error: %w", err)
		}
		c.Errors = append(c.Errors, e)
	}
	return c, nil
}

// GiveBack implements inbox.Store.
func (s *Store) GiveBack(ctx context.Context, ref inbox.Ref, failure contracts.AttemptError, wait time.Duration) error {
	text := ""
	if failure.Code != "" {
		b, err := json.Marshal(failure)
		if err != nil {
			return fmt.Errorf("give back event %s: %w", ref.EventID, err)
		}
		text = string(b)
	}
	return s.end(ctx, "give back", giveBackScript, ref, ref.Token, max(0, wait.Milliseconds()), text)
}

// Settle implements inbox.Store.
func (s *Store) Settle(ctx context.Context, ref inbox.Ref, end inbox.End, ttl time.Duration) error {
	return s.end(ctx, "settle", settleScript, ref, ref.Token, string(end), millis(ttl))
}

func (s *Store) end(ctx context.Context, what string, script *goredis.Script, ref inbox.Ref, args ...any) error {
	held, err := script.Run(ctx, s.client, keys(ref.Consumer, ref.EventID, ""), args...).Bool()
	switch {
	case err != nil:
		return fmt.Errorf("%s event %s in Redis: %w", what, ref.EventID, err)
	case !held:
		return fmt.Errorf("%s event %s in Redis: %w", what, ref.EventID, inbox.ErrLost)
	}
	return nil
}

// CheckAndMarkProcessed implements inbox.Store.
func (s *Store) CheckAndMarkProcessed(ctx context.Context, consumer, eventID string, ttl time.Duration) (alreadyProcessed bool, err error) {
	if err := inbox.CheckMark(consumer, eventID, ttl); err != nil {
		return false, fmt.Errorf("mark event %s in Redis: %w", eventID, err)
	}
	answer, err := checkAndMarkScript.Run(ctx, s.client, keys(consumer, eventID, ""), uuid.NewString(), millis(ttl)).StringSlice()
	switch {
	case err != nil:
	case len(answer) != 2:
		err = fmt.Errorf("the answer is %q", answer)
	case answer[1] != "":
		err = inbox.UnknownState(answer[1])
	default:
		return answer[0] == "1", nil
	}
	return false, fmt.Errorf("mark event %s in Redis: %w", eventID, err)
}

// millis is what Redis counts in; it refuses less than one.
func millis(d time.Duration) int64 { return max(1, d.Milliseconds()) }
