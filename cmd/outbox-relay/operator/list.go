package operator

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"outboxrelay/cmd/outbox-relay/adminapi"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

type listCmd struct {
	Any bool `help:"Closed ones too: replayed and discarded."`
	filterFlags
	pageFlags
	apiFlags
}

// Run prints one page of dead letters.
func (c *listCmd) Run(ctx context.Context, p shell.Process) error {
	return c.ask(p, func(d *desk) error {
		query, err := c.query(c.Any)
		if err != nil {
			return err
		}
		c.add(query)
		return show(ctx, d, "/dlq", query, func(page adminapi.List[adminapi.Item]) error {
			t := shell.NewTable(d.Stdout, "DEAD SINCE", "TIER", "STATE", "EVENT", "AGGREGATE", "LAST ERROR", "ID")
			for _, i := range page.Items {
				t.Row(moment(i.DeadAt), string(i.Tier), standing(i), i.Outbox+"/"+i.EventType,
					aggregateOf(i.AggregateID, i.AggregateVersion), brief(lastError(i), 60), i.ID)
			}
			return d.endPage(t, len(page.Items), "dead letters", page.NextPageToken)
		})
	})
}

// aggregateOf is an aggregate with its version, as far as its record has a sound one.
func aggregateOf(id string, version *int64) string {
	if version == nil {
		return id
	}
	return id + " v" + strconv.FormatInt(*version, 10)
}

// standing is an item's state, and what is under way.
func standing(i adminapi.Item) string {
	switch {
	case i.Replaying != nil:
		return string(i.State) + ", replaying"
	case i.Open && i.Replays > 0:
		return fmt.Sprintf("%s, %d replayed in vain", i.State, i.Replays)
	}
	return string(i.State)
}

// lastError is the last failed attempt's, or the reason where there was none. A record that
// breaks its contract may do so in several ways at once.
func lastError(i adminapi.Item) string {
	errs := make([]contracts.AttemptError, len(i.Errors))
	for n, e := range i.Errors {
		errs[n] = contracts.AttemptError{At: e.Time, Attempt: e.Attempt, Target: e.Target, Code: e.Code, Message: e.Message}
	}
	last, ok := contracts.LastFailure(errs)
	if !ok {
		return string(i.Reason)
	}
	return told(adminapi.Attempt{Code: last.Code, Message: last.Message})
}

// told is a failed attempt's code and message. Some messages begin with the code.
func told(e adminapi.Attempt) string {
	return e.Code + ": " + strings.TrimPrefix(e.Message, e.Code+": ")
}
