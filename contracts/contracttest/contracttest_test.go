package contracttest_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"outboxrelay/contracts"
	"outboxrelay/contracts/contracttest"
)

func matching(t *testing.T) *contracts.Catalog {
	t.Helper()
	c, err := contracts.LoadCatalog(filepath.Join("..", "catalogs", "matching.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// moving is a catalog with two versions of one event side by side, of which each names
// a consumer, and a third consumer that has not decided.
func moving(t *testing.T) *contracts.Catalog {
	t.Helper()
	schema := func(field string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"type": "object", "required": ["` + field + `"], "properties": {"` + field + `": {"type": "string"}}, "examples": [{"` + field + `": "Ada"}]}`)}
	}
	c, err := contracts.ParseCatalog("c.yaml", []byte(`
targets: {T: {kind: pubsub, topic: the-topic}}
outboxes:
- name: box
  slice: s
  events:
  - {type: Named, version: 1, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], consumers: [search, both], schema: one.json}
  - {type: Named, version: 2, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], consumers: [mail, both], schema: two.json}
`), fstest.MapFS{"one.json": schema("name"), "two.json": schema("fullName")})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACarefulConsumerPasses(t *testing.T) {
	for _, consumer := range []string{"", "notifications", "analytics", "chat", "trust_safety", "auth", "matching"} {
		t.Run("of the matching catalog/"+consumer, func(t *testing.T) {
			catalog := matching(t)
			contracttest.Run(t, catalog, consumer, func(*testing.T) contracttest.Consumer { return newConsumer(catalog, consumer, nothing).tested() })
		})
	}
	for _, consumer := range []string{"search", "mail", "both"} {
		t.Run("of two versions/"+consumer, func(t *testing.T) {
			catalog := moving(t)
			contracttest.Run(t, catalog, consumer, func(*testing.T) contracttest.Consumer { return newConsumer(catalog, consumer, nothing).tested() })
		})
	}
	t.Run("that puts aside what it refuses", func(t *testing.T) {
		catalog := matching(t)
		contracttest.Run(t, catalog, "chat", func(*testing.T) contracttest.Consumer { return newConsumer(catalog, "chat", putsAside).tested() })
	})
}

// failures runs all cases against a consumer, and returns what it does wrong by case.
func failures(t *testing.T, catalog *contracts.Catalog, consumer string, d defect) map[string]string {
	t.Helper()
	cases, err := contracttest.Cases(catalog, consumer)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	synctest.Test(t, func(t *testing.T) { // in which all who look have looked before any acts
		for _, c := range cases {
			if err := c.Run(t.Context(), func() contracttest.Consumer { return newConsumer(catalog, consumer, d).tested() }); err != nil {
				out[c.Name] = err.Error()
			}
		}
	})
	return out
}

func TestAConsumerFails(t *testing.T) {
	for _, c := range []struct {
		name     string
		defect   defect
		catalog  func(*testing.T) *contracts.Catalog
		consumer string
		groups   []string // of the cases that fail, and no others do
		one      string   // of these
		says     string   // in its words
	}{
		{
			"that is not idempotent", forgetsEvents, matching, "notifications",
			[]string{"duplicates"},
			"duplicates/matchingOutbox.match.accepted.v1/again", "when it comes again its effects are",
		},
		{
			"that looks and then acts", racesItself, matching, "notifications",
			[]string{"duplicates"},
			"duplicates/matchingOutbox.match.accepted.v1/at once", "when it comes 4 times at once its effects are",
		},
		{
			"that chokes on an unknown field", knowsAllFields, matching, "notifications",
			[]string{"unknown"},
			"unknown/matchingOutbox.match.offer_generated.v1/payload.score.x_of_tomorrow", "with the unknown field payload.score.x_of_tomorrow: a sound event is not acknowledged: no field",
		},
		{
			"that acts upon an unknown field", keepsAllFields, matching, "notifications",
			[]string{"unknown"},
			"unknown/matchingOutbox.match.accepted.v1/payload.x_of_tomorrow", "with the unknown field payload.x_of_tomorrow its effects are",
		},
		{
			"that accepts a missing field", checksNothing, matching, "notifications",
			[]string{"missing"},
			"missing/matchingOutbox.match.offer_generated.v1/payload.score.visual", "an event without payload.score.visual has an effect",
		},
		{
			"that drops what lacks a field", dropsTheBroken, matching, "notifications",
			[]string{"missing", "versions"},
			"missing/chatOutbox.chat.message_sent.v1/event_id", "an event without event_id is acknowledged as if it were sound",
		},
		{
			"that looks at no version", ignoresVersions, moving, "search",
			[]string{"missing", "others", "versions"},
			"versions/box.Named.v1/as v3", "version 3, which the catalog does not have, has an effect",
		},
		{
			"that takes any payload for its version", checksNothing, moving, "search",
			[]string{"missing", "versions"},
			"versions/box.Named.v1/with the payload of v2", "version 1 with the payload of version 2 has an effect",
		},
		{
			"that acts on events of others", actsOnAll, matching, "auth",
			[]string{"others"},
			"others/trustSafetyOutbox.safety.report_submitted.v1/1", "an event that does not name the consumer has an effect",
		},
		{
			"that refuses events of others", refusesOthers, matching, "auth",
			[]string{"others"},
			"others/trustSafetyOutbox.safety.report_submitted.v1/1", "an event that does not name the consumer is not acknowledged: not mine",
		},
		{
			"that lets the older win", lastComesWins, matching, "auth",
			[]string{"disorder"},
			"disorder/trustSafetyOutbox/backwards", "the effects of 4 events are",
		},
		{
			"that refuses sound events", refusesAll, matching, "auth",
			[]string{"disorder", "duplicates", "golden", "others", "unknown"},
			"golden/trustSafetyOutbox.safety.moderation_decided.v1/2", "a sound event is not acknowledged: no",
		},
		{
			"that panics", panics, matching, "auth",
			[]string{"disorder", "duplicates", "golden", "others", "unknown"},
			"golden/trustSafetyOutbox.safety.moderation_decided.v1/1", "a sound event is not acknowledged: panics: no",
		},
		{
			"that shows no effects", hidesEffects, matching, "auth",
			[]string{"golden"},
			"golden/effects", "no event changes what Effects tells",
		},
		{
			"whose effects cannot be told", tellsAFunction, matching, "auth",
			[]string{"disorder", "duplicates", "golden", "missing", "others", "unknown", "versions"},
			"golden/effects", "effects cannot be written as JSON",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			failed := failures(t, c.catalog(t), c.consumer, c.defect)
			if !strings.Contains(failed[c.one], c.says) || failed[c.one] == "" {
				t.Errorf("%s says %q, want %q", c.one, failed[c.one], c.says)
			}
			var groups []string
			for name := range failed {
				group, _, _ := strings.Cut(name, "/")
				groups = append(groups, group)
			}
			slices.Sort(groups)
			if groups = slices.Compact(groups); !slices.Equal(groups, c.groups) {
				t.Errorf("cases of %v fail, want %v: %v", groups, c.groups, failed)
			}
		})
	}
}

func TestCasesOfACatalog(t *testing.T) {
	cases, err := contracttest.Cases(moving(t), "mail")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range cases {
		if !strings.HasPrefix(c.Name, "missing/") {
			names = append(names, c.Name)
		}
	}
	want := []string{
		"golden/box.Named.v2/1", "golden/effects", "others/box.Named.v1/1",
		"unknown/box.Named.v2/x_of_tomorrow", "unknown/box.Named.v2/payload.x_of_tomorrow",
		"versions/box.Named.v2/as v3", "versions/box.Named.v2/with the payload of v1",
		"duplicates/box.Named.v2/again", "duplicates/box.Named.v2/at once",
		"disorder/box/backwards", "disorder/box/the first at last",
	}
	if !slices.Equal(names, want) {
		t.Errorf("cases %q, want %q", names, want)
	}
}

func TestNoCases(t *testing.T) {
	if _, err := contracttest.Cases(matching(t), "nobody"); err == nil || err.Error() != `the catalog names no event for consumer "nobody"` {
		t.Errorf("got %v", err)
	}
	bare, err := contracts.ParseCatalog("c.yaml", []byte(`
targets: {T: {kind: pubsub, topic: the-topic}}
outboxes: [{name: box, slice: s, events: [{type: E, lane: STANDARD_LANE, tier: SAFE_AUTO, targets: [T], schema: s.json}]}]
`), fstest.MapFS{"s.json": {Data: []byte(`{"required": ["day"]}`)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = contracttest.Cases(bare, "")
	if _, ok := errors.AsType[contracts.Faults](err); !ok || !strings.HasPrefix(err.Error(), "example 0 of box.E.v1 is not sound: payload.day is missing; give its schema an example") {
		t.Errorf("got %v", err)
	}
}

func TestTheDefaultCatalogHasCases(t *testing.T) {
	catalog, err := contracts.DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	contracttest.Run(t, catalog, "", func(*testing.T) contracttest.Consumer { return newConsumer(catalog, "", nothing).tested() })
}
