package dlq

import "testing"

func TestFreezeNameStandsForOneAggregate(t *testing.T) {
	names := make(map[string]string)
	for aggregate, want := range map[string]string{
		".": "%2E", "..": "%2E.", "%2E": "%252E", "%2E.": "%252E.", "%252E": "%25252E", // these alone differ
		"...": "...", "acc-1": "acc-1", "100%": "100%", "%2e": "%2e", "%2E..": "%2E..", "%25": "%25", "": "",
	} {
		name := FreezeName(aggregate)
		if name != want || NamedFreeze(name) != aggregate {
			t.Errorf("%q is named %q, which is of %q", aggregate, name, NamedFreeze(name))
		}
		if other, ok := names[name]; ok {
			t.Errorf("%q names %q and %q", name, aggregate, other)
		}
		names[name] = aggregate
	}
}
