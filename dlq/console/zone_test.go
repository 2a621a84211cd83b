package console_test

import (
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"outboxrelay/dlq/console/consoletest"
)

// TestTimesNameTheirZone: alerts, logs and commands tell UTC, so a time of the reader's own
// zone beside them says that it is one.
func TestTimesNameTheirZone(t *testing.T) {
	f := setup(t)
	item := f.die("accOutbox", "WalletDeducted", "a", 1)
	p := f.open(look{as: "dev-operator"}, itemPath(item))
	p.Shows("WalletDeducted")
	zone := regexp.MustCompile(`\d:\d\d:\d\d.* (GMT[+][12]|CES?T)$`)
	for _, text := range eval[[]string](p, `[...document.querySelectorAll("time:not([data-ago])")].map((t) => t.textContent)`) {
		if !zone.MatchString(text) {
			t.Errorf("%q names no zone", text)
		}
	}
	p.quiet()
}

// How long ago something was says nothing on paper: there it stands with its time.
func TestPrintedTimesAreTimes(t *testing.T) {
	f := setup(t)
	f.die("accOutbox", "WalletDeducted", "a", 1)
	p := f.open(look{as: "dev-operator"}, "/dlq")
	p.Shows("WalletDeducted")
	shown := `getComputedStyle(document.querySelector("time[data-ago]"), "::after").content`
	if got := eval[string](p, shown); got != "none" {
		t.Errorf("on a screen it is followed by %q", got)
	}
	consoletest.Call(p.Page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if got := eval[string](p, shown); !regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC`).MatchString(got) {
		t.Errorf("in print it is followed by %q", got)
	}
	p.quiet()
}
