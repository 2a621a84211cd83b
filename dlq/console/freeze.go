package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// freezeContent is one aggregate: its freeze, unless it has none (any more).
type freezeContent struct {
	Aggregate string
	Gone      bool
	F         freezeView
	Counted   time.Time          // when what it holds was
	Open      []admin.DeadLetter // that a release lets overtake
	Release   act
}

// freezeDone tells of actions that were taken.
var freezeDone = map[string]string{"release": "The release has begun. What was held goes on, in order; the freeze is gone when all of it is on its way."}

func loadFreeze(ctx context.Context, v *visit) (*page, error) {
	name := v.PathValue("aggregateId")
	aggregate := dlq.NamedFreeze(name)
	p := &page{Title: "Freeze of " + aggregate, Section: "freezes", Follows: []string{topicFreezes + ":" + aggregate, topicDLQ}}
	p.Notice = doneNotice(v, freezeDone)
	counted := time.Now()
	f, err := get[admin.FreezeDetail](ctx, v.ask, apiPath("freezes", name), nil)
	if problem, ok := errors.AsType[*admin.Problem](err); ok && problem.Status == http.StatusNotFound {
		p.Content = freezeContent{Aggregate: aggregate, Gone: true}
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	c := freezeContent{Aggregate: aggregate, F: frozenAs(f.Freeze), Counted: counted, Open: f.Open}
	c.Release = c.release(v)
	p.Content = c
	return p, nil
}

func releaseFreeze(ctx context.Context, v *visit) (string, error) {
	name := v.PathValue("aggregateId")
	saw, err := v.saw()
	if err != nil {
		return "", err
	}
	if err := notGrown(ctx, v, name); err != nil {
		return "", err
	}
	_, err = post[admin.Released](ctx, v.ask, apiPath("freezes", name, "release"), admin.Why{Reason: v.reason()}, saw)
	return done(pathTo("freezes", name), "release"), err
}

// fieldHeld is the form's field with how many records were held; empty where that was
// not known.
const fieldHeld = "held"

// notGrown refuses a release that was decided when far less was held. Nobody is told
// of a record that is held, and no entity tag changes by it. Some more is no reason:
// it comes all the time where much does.
func notGrown(ctx context.Context, v *visit, name string) error {
	saw, err := strconv.ParseInt(v.PostFormValue(fieldHeld), 10, 64)
	if err != nil {
		return nil //nolint:nilerr // it was not known, and not claimed
	}
	f, err := get[admin.FreezeDetail](ctx, v.ask, apiPath("freezes", name), nil)
	if err != nil {
		return err
	}
	if f.Held == nil || f.Held.Records <= 2*saw {
		return nil
	}
	return &fault{
		http.StatusPreconditionFailed, fmt.Sprintf("it holds %s now, and held %d when you looked at it", plural(f.Held.Records, "record", "records"), saw),
		"look at it again, then release it",
	}
}

// release is the act, and what it would do.
func (c freezeContent) release(v *visit) act {
	a := act{
		Name: "release", Label: "Release it", Post: pathTo("freezes", dlq.FreezeName(c.Aggregate), "release"), Danger: true, NeedsReason: true,
		Will: c.will(), Fields: map[string]string{fieldETag: c.F.ETag, fieldHeld: ""},
	}
	if c.F.Held != nil {
		a.Fields[fieldHeld] = strconv.FormatInt(c.F.Held.Records, 10)
	}
	if !strings.HasPrefix(c.Aggregate, "-") && pastable(c.Aggregate) {
		a.Command = shell("outbox-relay", "dlq", "release", c.Aggregate, "--reason", "...")
	}
	switch {
	case c.F.Releasing():
		a.Why, a.Hint = fmt.Sprintf("%s released it already", c.F.ReleasedBy), "it is gone when all that was held is on its way"
	case !v.who.May(dlq.Security):
		a.Why = fmt.Sprintf("A release needs the role %s, and you have %s", dlq.Security, v.who.Role)
		a.Hint = "ask someone with the role " + dlq.Security.String()
	default:
		a.Allowed = true
	}
	return a.retyped(v)
}

func (c freezeContent) will() []string {
	held := c.F.HeldWords()
	out := []string{held + " that are held go on to their targets, in the order of their versions, and what comes after them follows."}
	if c.F.Held != nil && c.F.Held.Records == 0 {
		out[0] = "Nothing was held when that was counted: what came since, and what comes next, goes on to its targets as usual."
	}
	if n := len(c.Open); n > 0 {
		out = append(out, fmt.Sprintf(
			"That overtakes %s of it that nobody replayed or discarded: targets see what follows first. To keep the order, decide about those before.",
			plural(n, "blocked dead letter", "blocked dead letters"),
		))
	}
	return append(out, "It cannot be called back: if one of them fails for good, the aggregate freezes again.")
}
