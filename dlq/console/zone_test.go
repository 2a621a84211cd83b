package console_test

import (
	"regexp"
	"testing"
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
