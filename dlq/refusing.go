package dlq

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"outboxrelay/contracts"
)

// maxReasonBytes bounds the reason of a decision.
const maxReasonBytes = 1000

// ReasonOf checks the reason of a decision and returns it trimmed. One in which there is nothing to
// be seen, such as a zero-width space, is none.
func ReasonOf(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	switch {
	case !strings.ContainsFunc(reason, visible):
		return "", &Refusal{Kind: Invalid, Detail: "a reason is required", Hint: "say why, for those who read the audit"}
	case len(reason) > maxReasonBytes:
		return "", &Refusal{Kind: Invalid, Detail: fmt.Sprintf("the reason has %d bytes, more than %d", len(reason), maxReasonBytes), Hint: "shorten it, or refer to where the rest stands"}
	case !utf8.ValidString(reason):
		return "", &Refusal{Kind: Invalid, Detail: "the reason is not text in UTF-8"}
	}
	return reason, nil
}

// optionalReason is ReasonOf where the reason may be left out: NoReason then.
func optionalReason(reason string) (string, error) {
	if !strings.ContainsFunc(reason, visible) {
		return NoReason, nil
	}
	return ReasonOf(reason)
}

func visible(r rune) bool { return unicode.IsPrint(r) && r != ' ' }

// forbidden refuses what needs a higher role.
func forbidden(a Actor, needs Role, what string) *Refusal {
	return &Refusal{
		Kind: Forbidden, Detail: fmt.Sprintf("%s needs the role %s, and %s has %s", what, needs, orNobody(a.Name), a.Role),
		Hint: "ask someone with the role " + needs.String(),
	}
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

// leastRole is the role that an action on a dead letter of that tier takes at
// least, wherever it stands; NoRole when people can never do it.
func leastRole(tier contracts.Tier, a Action) Role {
	least := NoRole
	for _, row := range Transitions() {
		if row.From.Tier == tier && row.Action == a && row.By != NoRole && (least == NoRole || row.By < least) {
			least = row.By
		}
	}
	return least
}

// orphaned refuses a replay that nobody would carry out.
func orphaned(i *Item) *Refusal {
	return &Refusal{
		Kind: Orphaned, Detail: fmt.Sprintf("no instance has its outbox %s in its catalog, so nothing would replay it", i.Outbox),
		Hint: "put the outbox back into the catalog, or discard it", Brief: "no instance has their outbox " + i.Outbox + " in its catalog",
	}
}

// unfit says why an action does nothing to the item where it stands.
func unfit(i *Item, a Action) *Refusal {
	r := &Refusal{Kind: Conflict, Detail: fmt.Sprintf("cannot %s a dead letter that is %s under %s", a, i.State, i.Tier)}
	switch {
	case !Open(i.State):
		r.Detail = fmt.Sprintf("it is %s already", i.State)
		r.Hint = "a note can still be added"
	case a == Authorize && i.Tier != contracts.SecurityBlock:
		r.Detail = fmt.Sprintf("only %s needs an authorization, and it stands under %s", contracts.SecurityBlock, i.Tier)
		r.Hint = "replay it"
	case a == Discard && i.Tier == contracts.SafeAuto:
		r.Detail = "it is replayed by itself, so it cannot be discarded yet"
		r.Hint = fmt.Sprintf("after its last automatic replay it waits for a review, under %s", contracts.ReviewRequired)
	case a == Withdraw && i.Tier == contracts.SafeAuto:
		r.Detail = "it is replayed by itself, which nobody can withdraw"
		r.Hint = fmt.Sprintf("after its last automatic replay it waits for a review, under %s", contracts.ReviewRequired)
	case a == Withdraw && i.Tier == contracts.SecurityBlock:
		r.Detail = "its replay was not authorized: there is nothing to withdraw"
		r.Hint = "discard it if it is not to be delivered"
	case a == Withdraw:
		r.Detail = "no replay of it was asked for: there is nothing to withdraw"
		r.Hint = "discard it if it is not to be delivered"
	case i.Replaying != nil:
		r.Detail = fmt.Sprintf("the replay that %s asked for at %s has not ended", orNobody(i.Replaying.By), clock(i.Replaying.At))
		r.Hint = "wait for its end, or withdraw it"
		if i.Tier == contracts.SafeAuto {
			r.Hint = "wait for its end"
		}
	case a == Replay && i.State == contracts.DeadBlocked:
		r.Detail = "it is blocked: its replay was not authorized"
		r.Hint = "someone with the role security authorizes it first"
	case a == Authorize && i.State == contracts.DeadAuthorized:
		r.Detail = "its replay was authorized already, by " + orNobody(i.AuthorizedBy)
		r.Hint = "replay it"
	}
	return r
}
