package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// decisionPaths are where the API takes decisions, and the console too.
var decisionPaths = map[dlq.Action]string{dlq.Replay: "replay", dlq.Authorize: "authorize", dlq.Withdraw: "withdraw", dlq.Discard: "discard", dlq.Note: "notes"}

// decisionLabels are what the buttons say.
var decisionLabels = map[dlq.Action]string{
	dlq.Replay: "Replay it", dlq.Authorize: "Authorize its replay", dlq.Withdraw: "Withdraw its replay", dlq.Discard: "Discard it", dlq.Note: "Add a note",
}

// decide takes a decision about what the visitor saw: the form holds its entity
// tag, so that nothing is decided twice, or on a sight that is not true any more.
func (s *server) decide(ctx context.Context, v *visit, action dlq.Action) (next string, err error) {
	saw, err := v.saw()
	if err != nil {
		return "", err
	}
	_, err = post[admin.Decided](ctx, v.ask, letterPath(v, decisionPaths[action]), admin.Why{Reason: v.reason()}, saw)
	if err != nil {
		return "", err
	}
	return done(pathTo("dlq", v.PathValue("id")), string(action)), nil
}

// acts lists what can be decided, as the visitor can.
func (p *itemPage) acts(v *visit) {
	for _, action := range p.order() {
		n := slices.IndexFunc(p.Actions, func(a admin.Possible) bool { return a.Action == action })
		if n < 0 {
			continue
		}
		possible := p.Actions[n]
		if possible.Action == dlq.Replay {
			p.First = possible.First
		}
		a := act{
			Name: string(possible.Action), Label: decisionLabels[possible.Action], Post: p.Path + "/" + decisionPaths[possible.Action],
			Will: p.will(possible.Action), Danger: possible.Action == dlq.Discard, Allowed: possible.Allowed, Why: possible.Why, Hint: possible.Hint,
			NeedsReason: true, Fields: map[string]string{fieldETag: p.ETag}, Command: decisionCommand(string(possible.Action), p.ID),
		}
		if len(possible.First) > 0 {
			a.Why = "an older dead letter of its aggregate comes first" // they are linked below
		}
		p.Acts = append(p.Acts, a.retyped(v))
	}
}

// order lists the actions as one takes them. Only what was blocked is authorized,
// and only what was asked for or authorized is withdrawn.
func (p *itemPage) order() []dlq.Action {
	if p.Tier == contracts.SecurityBlock {
		return []dlq.Action{dlq.Authorize, dlq.Replay, dlq.Withdraw, dlq.Discard, dlq.Note}
	}
	if p.Replaying != nil {
		return []dlq.Action{dlq.Replay, dlq.Withdraw, dlq.Discard, dlq.Note}
	}
	return []dlq.Action{dlq.Replay, dlq.Discard, dlq.Note}
}

// decisionCommand is the same on the command line; "" for an ID that cannot be
// pasted safely.
func decisionCommand(command, id string, more ...string) string {
	if strings.HasPrefix(id, "-") || !pastable(id) {
		return ""
	}
	return shell(append([]string{"outbox-relay", "dlq", command, id}, more...)...) + " --reason '...'"
}

func pastable(text string) bool { return dlq.Pastable(text) }

// will says beforehand what an action does.
func (p *itemPage) will(action dlq.Action) []string {
	switch action {
	case dlq.Replay:
		return p.replayWill()
	case dlq.Authorize:
		out := []string{"Nothing is delivered yet: the replay is asked for apart."}
		if p.TwoPerson {
			return append(out, fmt.Sprintf("%s asks for two persons: who authorizes it cannot ask for its replay.", brief(p.EventType, maxName)))
		}
		return append(out, "The replay may be asked for by whom you like, yourself included.")
	case dlq.Withdraw:
		return p.withdrawWill()
	case dlq.Discard:
		out := []string{
			fmt.Sprintf("It is given up for %s: no delivery there begins, now or later. This cannot be undone; the record stays in the dead letter.", p.targets()),
			"Younger dead letters of its aggregate that wait behind it may be replayed then.",
		}
		if p.Replaying != nil || p.Automatic > 0 {
			out = append(out, underWay)
		}
		if p.Freeze != nil {
			out = append(out, brief(p.AggregateID, maxName)+" stays frozen until it is released.")
		}
		return out
	}
	return []string{"It becomes part of its history and of the audit, and changes nothing else."}
}

// withdrawWill says what becomes of it, and of a delivery under way.
func (p *itemPage) withdrawWill() []string {
	after := "It waits for somebody to decide, as before its replay was asked for."
	if p.Tier == contracts.SecurityBlock {
		after = "It is blocked again: its replay needs a new authorization."
	}
	return []string{after, underWay}
}

// underWay is what neither a withdrawal nor a discard calls back.
const underWay = "A delivery that is under way at this moment comes to its end, and this page tells of it."

// replayWill says where a replay goes, and in what order.
func (p *itemPage) replayWill() []string {
	out := []string{
		fmt.Sprintf("It is delivered to %s, through %s, as soon as the relay comes to it.", p.targets(), p.Lane),
		"The idempotency key stays the same: a consumer that has seen it can tell.",
	}
	if p.AggregateID == "" {
		out = append(out, "It belongs to no aggregate: there is no order to keep.")
	} else if len(p.First) == 0 {
		out = append(out, fmt.Sprintf("In order: no older dead letter of %s is open.", brief(p.AggregateID, maxName)))
	}
	if p.Order != nil && p.AggregateID != "" {
		out = append(out, sentence(p.Order.Message))
	}
	if p.Freeze != nil {
		out = append(out, fmt.Sprintf("%s stays frozen: a replay does not release what is held behind it.", brief(p.AggregateID, maxName)))
	}
	return out
}

// targets names where it still has to go.
func (p *itemPage) targets() string {
	switch n := len(p.PendingTargets); n {
	case 0:
		return "every target of its event"
	case 1:
		return p.PendingTargets[0] + ", the one target that lacks it"
	default:
		return fmt.Sprintf("%s, the %d targets that lack it", strings.Join(p.PendingTargets, ", "), n)
	}
}

// sentence makes a text that begins in the middle of one a whole one.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
