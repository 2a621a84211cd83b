package console_test

import (
	"fmt"
	"net/url"
	"testing"

	"outboxrelay/deploy/local/thorough"
	"outboxrelay/dlq"
)

// Whatever the width of the window, who, what and where to are read in one line each, no
// column's head lies over its neighbour's, and the fields of a filter are of one size.
func TestTablesKeepTheirWordsWhole(t *testing.T) {
	thorough.Long(t)
	f := setup(t)
	f.decide(f.die("accOutbox", "RoleChanged", "acc-3", 1), dlq.Authorize, "dev-security", dlq.Security)
	i := f.die("accOutbox", "WalletDeducted", "acc-1", 1, func(i *dlq.Item) {
		i.Record["status"], i.Record["deliveredTargets"] = "delivered", []any{"FUNNEL_CRITICAL"}
	})
	_, err := f.queue.Decide(t.Context(), i.ID, dlq.Decide{Action: dlq.Discard, Actor: dlq.Actor{Name: "dev-operator", Role: dlq.Operator}, Reason: "none of " + i.ID})
	f.must(err)
	for _, width := range []int64{390, 700, 900, 1024, 1181, 1280, 1501, 1600} {
		p := f.open(look{as: "dev-viewer", width: width, height: 900}, "/audit")
		for path, names := range map[string][]string{
			"/audit": {"#entries td:nth-child(2) a", "#entries .tag"},
			"/trace?traceId=" + url.QueryEscape(i.TraceID): {".found .tag", ".found td:nth-child(5)"},
			"/groups": {},
		} {
			p.goTo(path)
			for _, name := range names {
				height := eval[float64](p, fmt.Sprintf("Math.max(...[...document.querySelectorAll('%s')].map(e => (r => (r.selectNodeContents(e), r.getBoundingClientRect().height))(document.createRange())))", name))
				if height <= 0 || height > 36 {
					t.Errorf("at %d px %s of %.10s is %v px high, and a line is some 22", width, name, path, height)
				}
			}
			if over := eval[[]string](p, "[...document.querySelectorAll('th')].filter(e => e.clientWidth > 1 && e.scrollWidth > e.clientWidth).map(e => e.textContent)"); len(over) > 0 {
				t.Errorf("at %d px of %.10s heads are wider than their columns: %q", width, path, over)
			}
		}
		p.goTo("/audit")
		if uneven := eval[float64](p, "(w => Math.max(...w) - Math.min(...w))([...document.querySelectorAll('.audit-form input, .audit-form select')].map(e => e.getBoundingClientRect().width))"); uneven > 1 {
			t.Errorf("at %d px the widest field of the audit's filter has %v px more than the narrowest", width, uneven)
		}
		p.sideways()
		p.close()
	}
}
