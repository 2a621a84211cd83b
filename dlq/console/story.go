package console

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// piece is a stretch of a text: words, or a moment, which each reader sees in a
// zone of their own.
type piece struct {
	Text string
	At   time.Time
}

// story tells in one sentence what happened to a dead letter and how it stands.
func story(d *admin.DeadLetter, now time.Time) []piece {
	s := &telling{}
	s.says("%s %s", subject(d), cause(d))
	if n := d.Replays; n > 0 && d.State != contracts.DeadReplayed {
		s.says("; %s of it failed too", plural(n, "replay", "replays"))
	}
	s.standing(d, now)
	s.says(".")
	return s.pieces
}

// telling collects the pieces of a text.
type telling struct{ pieces []piece }

func (t *telling) says(format string, args ...any) {
	t.pieces = append(t.pieces, piece{Text: fmt.Sprintf(format, args...)})
}

func (t *telling) at(moment time.Time) { t.pieces = append(t.pieces, piece{At: moment}) }

// subject names the event.
func subject(d *admin.DeadLetter) string {
	name := d.EventType
	if name == "" {
		name = "A record of " + d.Outbox
	}
	if d.AggregateID == "" {
		return name + ", which belongs to no aggregate,"
	}
	return fmt.Sprintf("%s of %s (%s)", brief(name, maxName), brief(d.AggregateID, maxName), versioned(d.AggregateVersion, "version "))
}

// cause says why it is a dead letter.
func cause(d *admin.DeadLetter) string {
	failure := ""
	if e, ok := d.LastFailure(); ok {
		failure = brief(strings.TrimSuffix(e.Code+": "+strings.TrimPrefix(e.Message, e.Code+": "), "."), maxFailure)
	}
	at := ""
	if targets := failedAt(d); len(targets) > 0 {
		at = " at " + strings.Join(targets, ", ")
	}
	with := func(text string) string {
		if failure == "" {
			return text
		}
		return text + " with " + failure
	}
	switch d.Reason {
	case contracts.ContractViolation:
		if failure == "" {
			return "breaks its contract and was never attempted"
		}
		return "breaks its contract (" + failure + ") and was never attempted"
	case contracts.PermanentFailure:
		return with("was refused for good" + at)
	case contracts.ClaimsRefreshFailed:
		return with("could not refresh the claims of its account: it failed " + times(d.Attempts) + at)
	case contracts.Restored:
		return "was waiting in an export of Firestore, so that nobody knows whether it was delivered"
	case contracts.AttemptsExhausted:
	}
	return with("failed " + times(d.Attempts) + at)
}

// failedAt lists the targets of its errors, a few of them.
func failedAt(d *admin.DeadLetter) []string {
	var out []string
	for _, e := range d.Errors {
		if e.Target != "" && !slices.Contains(out, e.Target) {
			out = append(out, brief(e.Target, maxName))
		}
	}
	if len(out) > 3 {
		out = append(out[:3], plural(len(out)-3, "other", "others"))
	}
	return out
}

// standing says how it stands, and since when.
func (t *telling) standing(d *admin.DeadLetter, now time.Time) {
	switch {
	case d.State == contracts.DeadReplayed:
		t.says(", and a replay delivered it to every target")
		if d.LastReplay != nil {
			t.says(" at ")
			t.at(d.LastReplay.At)
			if by := d.LastReplay.By; by != "" && by != dlq.Service().Name {
				t.says(", as %s asked", brief(by, maxName))
			}
		}
	case d.State == contracts.DeadDiscarded:
		t.says(", and was given up")
		if last := lastDecision(d, dlq.Discard); last != nil {
			t.says(" by %s at ", brief(last.By, maxName))
			t.at(last.At)
			t.says(": %s", brief(strings.TrimSuffix(last.Reason, "."), maxFailure))
		}
	case d.Replaying != nil:
		t.says(", and is being replayed since ")
		t.at(d.Replaying.At)
		t.says(", as %s asked", brief(d.Replaying.By, maxName))
		switch w := d.Replaying.Waits; {
		case w != nil && w.Behind != "":
			t.says("; it waits for an older dead letter of its aggregate, %s, which comes first", brief(w.Behind, maxName))
		case w != nil:
			t.says("; it waits for %s, which did not answer when it was its turn", brief(dlq.InWords(w.Targets), maxFailure))
		}
	case d.State == contracts.DeadScheduled && d.NextReplayAt.After(now):
		t.says(", and is replayed by itself at ")
		t.at(d.NextReplayAt)
	case d.State == contracts.DeadScheduled:
		t.says(", and is due to be replayed by itself since ")
		t.at(d.NextReplayAt)
	case d.State == contracts.DeadBlocked:
		t.says(", and has been waiting since ")
		t.at(d.DeadAt)
		t.says(" for the role security to decide")
	case d.State == contracts.DeadAuthorized:
		t.says(", and waits for somebody to replay it, as %s has allowed", brief(d.AuthorizedBy, maxName))
		if last := lastDecision(d, dlq.Authorize); last != nil {
			t.says(" at ")
			t.at(last.At)
		}
	default:
		t.says(", and has been waiting since ")
		t.at(waitingSince(d))
		t.says(" for somebody to decide")
	}
}

// waitingSince is when it began to wait for a person: when it died, or when its
// last automatic replay failed.
func waitingSince(d *admin.DeadLetter) time.Time {
	if last := lastDecision(d, dlq.Exhausted); last != nil {
		return last.At
	}
	return d.DeadAt
}

// lastDecision is the latest of its kind; nil for none.
func lastDecision(d *admin.DeadLetter, action dlq.Action) *admin.Decision {
	for n := len(d.Decisions) - 1; n >= 0; n-- {
		if d.Decisions[n].Action == action {
			return &d.Decisions[n]
		}
	}
	return nil
}

// times counts in words, as people do.
func times(n int) string {
	words := []string{"", "once", "twice", "three times", "four times", "five times", "six times", "seven times", "eight times", "nine times", "ten times"}
	if n > 0 && n < len(words) {
		return words[n]
	}
	return fmt.Sprintf("%d times", n)
}

// Bounds of what a sentence repeats of a record, in bytes.
const (
	maxName    = 120
	maxFailure = 240
)

// brief cuts a text that is too long to stand in a sentence.
func brief(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
