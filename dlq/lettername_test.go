package dlq

import "testing"

func TestLetterNameStandsForOneDeadLetter(t *testing.T) {
	names := make(map[string]string)
	for id, want := range map[string]string{
		"count": "%63ount", "groups": "%67roups", "named": "%6Eamed", "summary": "%73ummary",
		"%67roups": "%2567roups", "%2567roups": "%252567roups", "%6Eamed": "%256Eamed", // these alone differ
		"7f0c:acc-1:3": "7f0c:acc-1:3", "Groups": "Groups", "group": "group", "groups:1": "groups:1", "100%": "100%",
		"%25": "%25", "%6eamed": "%6eamed", "%67roups:1": "%67roups:1", "%63": "%63", "": "",
	} {
		name := LetterName(id)
		if name != want || NamedLetter(name) != id {
			t.Errorf("%q is named %q, which is of %q", id, name, NamedLetter(name))
		}
		if other, ok := names[name]; ok {
			t.Errorf("%q names %q and %q", name, id, other)
		}
		names[name] = id
	}
	if id := NamedLetter("groups"); id != "groups" {
		t.Errorf("a name that was not escaped is of %q", id)
	}
}
