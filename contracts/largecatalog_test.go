package contracts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"outboxrelay/deploy/local/thorough"
)

// A catalog of a megabyte takes about as long as another, whatever is in it: 13,000 patterns
// took a minute.
func TestALargeCatalogTakesNoLongerForWhatIsInIt(t *testing.T) {
	thorough.Long(t)
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const rest = ", lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}\n"
	events := func(n int, event string) string {
		return soundTargets + strings.TrimSuffix(box(), "\n") + many(n, "{"+event+rest+"  - ") + soundEvent
	}
	base := took(t, events(12_000, "type: E%05d"))
	for name, text := range map[string]string{
		"patterns of one beginning":                 events(12_000, "type: E*%05d"),
		"patterns of one end":                       events(12_000, "type: %05d*E"),
		"long patterns":                             events(4_000, "type: '"+strings.Repeat("*a", 90)+"%05d'"),
		"patterns that all overlap":                 events(12_000, "type: '*%05d*'"),
		"one event":                                 soundTargets + box(slices.Repeat([]string{soundEvent}, 12_000)...),
		"patterns of one beginning, and of one end": soundTargets + strings.TrimSuffix(box(), "\n") + many(5_000, "{type: a*%05d"+rest+"  - ") + many(5_000, "{type: b%05d*"+rest+"  - ") + soundEvent,
		"versions":                                  events(11_000, "type: V, version: 1%05d"),
		"versions of one consumer":                  events(9_000, "type: V, consumers: [c], version: 1%05d"),
		"consumers of two versions":                 soundTargets + box(event("consumers: ["+many(60_000, "c%d, ")+"]"), event("version: 2, consumers: ["+many(60_000, "c%d, ")+"]")),
		"unknown targets":                           soundTargets + box("{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: ["+many(120_000, "t%d, ")+"]}"),
		"unknown lanes":                             soundTargets + strings.TrimSuffix(box(), "\n") + many(12_000, "{type: E%[1]d, lane: l%[1]d, tier: SAFE_AUTO, targets: [T]}\n  - ") + soundEvent,
		"shards":                                    soundTargets + "outboxes:\n" + many(8_000, "- {name: b%d, slice: s, shards: 64, events: ["+soundEvent+"]}\n"),
		"events of every outbox": soundTargets + "everyOutbox:\n" + many(4_000, "- {type: E%d"+rest) +
			"outboxes:\n" + many(6_000, "- {name: b%d, slice: s, events: ["+soundEvent+"]}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			if got := took(t, text); got > 20*base {
				t.Errorf("%d bytes take %.0f times as long as %d plain events", len(text), float64(got)/float64(base), 12_000)
			} else {
				t.Logf("%.1f times as long", float64(got)/float64(base))
			}
		})
	}
}

// took is how long a catalog takes to be read, sound or not.
func took(t *testing.T, text string) time.Duration {
	t.Helper()
	if len(text) > maxCatalogBytes {
		t.Fatalf("the catalog has %d bytes", len(text))
	}
	start := time.Now()
	_, err := ParseCatalog("c.yaml", []byte(text), nil)
	d := time.Since(start)
	if err != nil {
		t.Logf("%.200s", err)
	}
	return d
}
