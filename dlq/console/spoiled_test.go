package console_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// hostileRecords are what somebody might put into a field to mislead or to break a page.
var hostileRecords = map[string]string{
	"markup":     `"><img src=x onerror="window.hit=1"><script>window.hit=1</script>{{.}}<!--`,
	"quotes":     "' onmouseover='window.hit=1' \" `$(touch /tmp/x)` \\",
	"rightwards": "abc\u202egnp.exe\u202c\u2066x\u2069\u200f\u061c",
	"control":    "a\x00b\x1b[31mred\x07\x7f\u0085\u2028\u2029\ufeff",
	"long":       strings.Repeat("x", 100_000),
	"url":        "javascript:window.hit=1",
}

// spoiled is a dead letter with a text in every field that takes one.
func (f *fixture) spoiled(text string, n int) *dlq.Item {
	short := text
	if len(short) > 300 {
		short = short[:300]
	}
	short = fmt.Sprint(short, n)
	return f.die("accOutbox", "RoleChanged", short, 1, func(i *dlq.Item) {
		i.ID = dlq.ID(fmt.Sprint(n, short))
		i.EventType, i.EventID, i.TraceID, i.IdempotencyKey = short, short, short, short
		i.RecordPath, i.Reason, i.Lane = "accOutbox/"+dlq.ID(short), contracts.Reason(short), contracts.Lane(short)
		i.OriginalTier, i.PendingTargets, i.AuthorizedBy = contracts.Tier(short), []string{short, "B"}, short
		for m := range i.Errors {
			i.Errors[m] = contracts.AttemptError{At: i.DeadAt, Attempt: m + 1, Target: short, Code: short, Message: text}
		}
		i.Decisions = []dlq.Decision{{ID: "d", Action: dlq.Action(short), By: short, At: i.DeadAt, Reason: text}}
		i.LastReplay = &dlq.Ended{ID: "e", At: i.DeadAt, Request: "x", By: short}
		i.Replays = 1
		i.Record = map[string]any{"eventId": short, "eventType": short, "aggregateId": short, "traceId": short, "status": short, "createdAt": time.Now(), "lastError": text, "deliveredTargets": []any{short}, "payload": map[string]any{text[:min(len(text), 200)]: text}}
	})
}

func TestSpoiledDeadLetterIsTextAlone(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	p := f.open(look{as: "dev-security", width: 390, height: 844}, "/")
	n := 0
	for name, text := range hostileRecords {
		n++
		item := f.spoiled(text, n)
		_, err := f.queue.Decide(t.Context(), item.ID, dlq.Decide{Action: dlq.Note, Actor: dlq.Actor{Name: "otto", Role: dlq.Operator}, Reason: strings.ToValidUTF8(text[:min(len(text), 900)], "")})
		f.must(err)
		for _, path := range []string{itemPath(item), tracePath("traceId", item.TraceID), tracePath("aggregateId", item.AggregateID), "/audit"} {
			p.goTo(path)
			p.Until("it is shown", "document.querySelector('main h1')")
			if wide := eval[string](p, `[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".table, pre")).slice(0, 5).map((e) => e.tagName + "." + e.className + "#" + e.id).join(" ")`); wide != "" {
				t.Errorf("%s in %.60s: these are wider than the window: %s", name, path, wide)
			}
			p.sideways()
			if eval[bool](p, "window.hit === 1 || document.querySelectorAll('main img, main script').length > 0") {
				t.Errorf("%s in %.60s has become part of the page", name, path)
			}
			for _, mark := range []string{"\u202e", "\u2066", "\u200f", "\u061c", "\x1b", "\x07", "\u2028"} {
				if strings.Contains(p.text("main"), mark) {
					t.Errorf("%s in %.60s: %U is not made visible", name, path, []rune(mark)[0])
				}
			}
			if strings.HasPrefix(path, "/dlq") {
				if shown := p.text("main"); name == "rightwards" && !strings.Contains(shown, "‹U+202E›") || name == "markup" && !strings.Contains(shown, "<script>window.hit=1</script>") {
					t.Errorf("%s is not shown as it is: %.400s", name, shown)
				}
				p.accessible("hostile " + name)
				p.picture("item-hostile-" + name)
			}
			p.quiet()
		}
	}
}
