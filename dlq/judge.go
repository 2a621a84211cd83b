package dlq

import (
	"fmt"
	"strings"

	"outboxrelay/contracts"
)

// Judge finds the row of the table that a person's action about the item takes,
// or says why there is none. It is the judgement of every decision, and of what
// may be decided, as far as the item and the catalog tell, and whether anybody relays
// its outbox; see Relayed. Whether an older dead letter comes before a replay is asked
// apart; see Older.
func Judge(c *contracts.Catalog, item *Item, relayed bool, a Action, by Actor) (Transition, *Refusal) {
	least := leastRole(item.Tier, a)
	switch needs := max(least, Operator); {
	case least == NoRole && by.Role < Operator:
		r := unfit(item, a) // nobody is sent to another who could not do it either
		r.Kind = Forbidden
		return Transition{}, r
	case by.Role < needs:
		return Transition{}, forbidden(by, needs, fmt.Sprintf("to %s a dead letter of %s", a, item.Tier))
	}
	next := Next
	if !relayed {
		next = NextOrphan
	}
	row, ok := next(item.Place(), a)
	switch {
	case !ok:
		return Transition{}, unfit(item, a)
	case by.Role < row.By:
		return Transition{}, forbidden(by, row.By, fmt.Sprintf("to %s it while it is %s", a, item.State))
	case a != Replay:
		return row, nil
	case !relayed:
		return Transition{}, orphaned(item)
	case twoPersons(c, item) && strings.EqualFold(item.AuthorizedBy, by.Name):
		return Transition{}, &Refusal{
			Kind: Forbidden, Detail: fmt.Sprintf("you authorized it, and %s asks for two persons", item.EventType),
			Hint: "another person replays it",
		}
	}
	return row, nil
}

// twoPersons reports whether another than who authorized the item has to replay
// it. Where the catalog does not know its event any more, it is taken to ask for that.
func twoPersons(c *contracts.Catalog, item *Item) bool {
	if item.Tier != contracts.SecurityBlock {
		return false
	}
	outbox := c.Outbox(item.Outbox)
	if outbox == nil {
		return true
	}
	route := outbox.Route(item.EventType)
	return route == nil || route.TwoPersonRule
}
