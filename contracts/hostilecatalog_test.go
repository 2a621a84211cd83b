package contracts

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A few kilobytes of aliases can stand for more values than any machine has room for.
func TestAliasesThatComeToTooMuch(t *testing.T) {
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d: 1", i)
	}
	anchored := strings.Replace(box(soundEvent), "- name", "- &box\n  name", 1)
	anchored = strings.Replace(anchored, "- {type", "- &event {type", 1)
	within := make([]string, 2000)
	merged := make([]string, len(within))
	for i := range within {
		within[i], merged[i] = fmt.Sprintf("T%d: *all", i), fmt.Sprintf("T%d: {<<: *all}", i)
	}
	for name, text := range map[string]string{
		"within itself":         "targets: &all {" + strings.Join(within, ", ") + "}\n" + box(soundEvent),
		"merged within itself":  "targets: &all {" + strings.Join(merged, ", ") + "}\n" + box(soundEvent),
		"within what it merges": "targets: &all {<<: [{" + strings.Join(within, ", ") + "}]}\n" + box(soundEvent),
		"merged": "lanes:\n  CRITICAL_LANE: &many {" + strings.Join(keys, ", ") + "}\n" +
			"  STANDARD_LANE:\n    <<: [" + strings.Repeat("*many, ", 2000) + "]\n" + soundTargets + box(soundEvent),
		"within each other": soundTargets + anchored + strings.Repeat("  - *event\n", 1000) + strings.Repeat("- *box\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseCatalog("c.yaml", []byte(text), nil)
			const want = "c.yaml:1: the catalog comes to more than 262144 values with its aliases written out; split the service"
			if err == nil || err.Error() != want {
				t.Errorf("of %d bytes got %.300v, want %s", len(text), err, want)
			}
		})
	}
}

// What merges itself comes to no more than it is.
func TestAMappingThatMergesItself(t *testing.T) {
	for _, lane := range []string{"&l {<<: *l, workers: 3}", "&l {<<: [*l, *l], workers: 3}", "&l {<<: &m {<<: [*l, *m], workers: 3}}"} {
		cat, err := ParseCatalog("c.yaml", []byte(soundTargets+"lanes:\n  CRITICAL_LANE: "+lane+"\n"+box(soundEvent)), nil)
		if err != nil {
			t.Errorf("%s: %v", lane, err)
			continue
		}
		if got := cat.Lanes[CriticalLane].Workers; got != 3 {
			t.Errorf("%s: workers = %d, want 3", lane, got)
		}
	}
}

// Faults are no more than somebody can read.
func TestFaultsBeyondCounting(t *testing.T) {
	events := make([]string, 5000)
	for i := range events {
		events[i] = soundEvent
	}
	_, err := ParseCatalog("c.yaml", []byte(soundTargets+box(events...)), nil)
	bad, ok := errors.AsType[*CatalogError](err)
	if !ok {
		t.Fatal(err)
	}
	if n := len(bad.Faults); n != 1001 {
		t.Errorf("got %d faults, want 1,000 and how many more there are", n)
	}
	const want = "3999 more faults were found; mend those above first"
	if lines := strings.Split(err.Error(), "\n"); !strings.HasSuffix(lines[len(lines)-1], want) {
		t.Errorf("the last line is %q, want %q", lines[len(lines)-1], want)
	}
}

// The events of every outbox stand in each, and are read once.
func TestEventsOfEveryOutboxThatComeToTooMany(t *testing.T) {
	var text strings.Builder
	text.WriteString(soundTargets + "everyOutbox:\n")
	for i := range 500 {
		fmt.Fprintf(&text, "- {type: E%d, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T]}\n", i)
	}
	text.WriteString("outboxes:\n")
	for i := range 200 {
		fmt.Fprintf(&text, "- {name: b%d, slice: s, events: []}\n", i)
	}
	if _, err := ParseCatalog("c.yaml", []byte(text.String()), nil); err != nil {
		t.Fatal(err)
	}
	text.WriteString("- {name: one, slice: s, events: [" + soundEvent + "]}\n")
	_, err := ParseCatalog("c.yaml", []byte(text.String()), nil)
	const want = "c.yaml:1: the outboxes have 100501 events with those of everyOutbox in each, more than 100000; split the service"
	if err == nil || err.Error() != want {
		t.Errorf("got %.300v, want %s", err, want)
	}
}
