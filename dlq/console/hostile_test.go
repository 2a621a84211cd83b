package console_test

import (
	"net/url"
	"strings"
	"testing"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// hostileTexts are what a record may hold in any of its fields.
var hostileTexts = map[string]string{
	"markup":        `<script>document.title='taken'</script><img src=x onerror="document.title='taken'"><b>`,
	"attributes":    `"><svg onload=document.title='taken'>' onmouseover='document.title=1`,
	"templates":     `{{.}} {{template "main"}} ${document.title='taken'}`,
	"addresses":     `javascript:document.title='taken'`,
	"right to left": "exe.\u202egnp\u2066\u200f\u061c",
	"not printing":  "a\x00b\x07c\x1b[31md\u200be\ufefff\r\ng\u2028h",
	"long":          strings.Repeat("long ", 4000) + strings.Repeat("x", 4000),
	"unbroken":      strings.Repeat("x", 5000),
	"paths":         "../../%2e%2e/?a=b&c=d#e;f\\g",
	"emoji":         strings.Repeat("👩‍👩‍👧‍👦", 50) + strings.Repeat("̷̡", 200),
}

// TestHostileRecords lets each text be every field of a dead letter, and opens every
// screen on which it stands.
func TestHostileRecords(t *testing.T) {
	thorough.Long(t)
	t.Parallel()
	short := func(text string) string { return text[:min(len(text), 1000)] }
	for name, text := range hostileTexts {
		t.Run(name, func(t *testing.T) {
			f := setup(t)
			aggregate := short(text)
			i := f.die("accOutbox", "RoleChanged", aggregate, 1, func(i *dlq.Item) {
				i.EventID, i.TraceID, i.EventType = short(text), short(text), short(text)
				i.PendingTargets = []string{short(text)}
				for n := range i.Errors {
					i.Errors[n].Target, i.Errors[n].Code, i.Errors[n].Message = short(text), short(text), text
				}
				i.Record = map[string]any{"payload": map[string]any{short(text): text}, "eventId": text, "aggregateId": text, "traceId": text, "lane": text}
			})
			_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Note, Actor: dlq.Actor{Name: short(text), Role: dlq.Security}, Reason: text[:min(len(text), 500)]})
			f.must(err)
			q := url.QueryEscape
			p := f.open(look{as: "dev-security", width: 390, height: 844}, "/")
			defer p.close()
			for _, path := range []string{
				"/", "/dlq", "/dlq?eventType=" + q(short(text)), "/dlq?aggregateId=" + q(aggregate), "/groups", itemPath(i), "/freezes", "/freezes/" + url.PathEscape(aggregate),
				"/trace?traceId=" + q(short(text)), "/trace?eventId=" + q(short(text)), "/trace?aggregateId=" + q(aggregate), "/audit", "/audit?on=" + q(short(text)),
				"/replays/new?aggregateId=" + q(aggregate), "/replays/new?eventType=" + q(short(text)), "/none/" + url.PathEscape(short(text)),
			} {
				p.goTo(path)
				if title := eval[string](p, "document.title"); strings.HasPrefix(title, "taken") || !strings.Contains(title, "DLQ Manager") {
					t.Errorf("%s: the title is %q", path, title)
				}
				if n := eval[int](p, "document.querySelectorAll('main script, main img, main svg:not(.chart), main iframe, main [onload], main [onmouseover], main a[href^=\"javascript\" i]').length"); n > 0 {
					t.Errorf("%s: %d elements come from the record", path, n)
				}
				if seen := p.text("body"); strings.ContainsAny(seen, "\u202e\u2066\u200f\x1b\x07") {
					t.Errorf("%s: marks that mislead are on the page", path)
				}
				if wide := eval[[]string](p, `document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] : [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(".table, pre, .visually-hidden")).map(e => e.outerHTML.slice(0, 150))`); len(wide) > 0 {
					t.Errorf("%s: wider than the window: %q", path[:min(len(path), 40)], wide)
				}
				p.picture("hostile " + name + " " + url.PathEscape(path[:min(len(path), 20)]))
				p.quietBut("404", "400", "422", "414", "431")
			}
		})
	}
}
