package contracts

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMatchPattern(t *testing.T) {
	for _, c := range []struct {
		name, pattern, eventType string
		want                     bool
	}{
		{"star matches anything", "*", "WorkspaceRenamed", true},
		{"star matches nothing at all", "*", "", true},
		{"prefix", "Compensating*", "CompensatingScheduleCancelled", true},
		{"prefix alone", "Compensating*", "Compensating", true},
		{"another prefix", "Compensating*", "ScheduleCompensating", false},
		{"suffix", "*Changed", "RoleChanged", true},
		{"suffix missing", "*Changed", "RoleChangedAgain", false},
		{"dots are plain", "match.*", "match.offer.accepted", true},
		{"a dot is no joker", "match.*", "matchXaccepted", false},
		{"slashes are plain", "a*c", "a/b/c", true},
		{"brackets are plain", "a[b]*", "a[b]c", true},
		{"a question mark is plain", "a?*", "abc", false},
		{"a star must be retried", "a*bc", "abxbc", true},
		{"two stars", "*a*b", "xxaxxb", true},
		{"two stars, no end", "*a*b", "xxaxxbx", false},
		{"exact", "RoleChanged", "RoleChanged", true},
		{"case matters", "RoleChanged", "rolechanged", false},
		{"empty pattern", "", "x", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := matchPattern(c.pattern, c.eventType); got != c.want {
				t.Errorf("matchPattern(%q, %q) = %v, want %v", c.pattern, c.eventType, got, c.want)
			}
		})
	}
}

// referenceMatch is what a pattern means, as a regular expression.
func referenceMatch(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(name)
}

func TestMatchPatternEqualsRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab.*]{0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab.]{0,10}`).Draw(t, "name")
		if got, want := matchPattern(pattern, name), referenceMatch(pattern, name); got != want {
			t.Fatalf("matchPattern(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}

func FuzzMatchPattern(f *testing.F) {
	f.Add("Compensating*", "CompensatingScheduleCancelled")
	f.Add("*.accepted", "match.accepted")
	f.Add("*a*a*a*b", "aaaaaaaaaaaaaaaa")
	f.Add("a*/b", "a//b")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 100 || len(name) > 200 || pattern != strings.ToValidUTF8(pattern, "") || name != strings.ToValidUTF8(name, "") {
			t.Skip()
		}
		if got, want := matchPattern(pattern, name), referenceMatch(pattern, name); got != want {
			t.Errorf("matchPattern(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}

func TestPatternsThatOverlapHaveAWitness(t *testing.T) {
	var names []string // every name of up to 6 characters
	for level := []string{""}; len(level[0]) <= 6; {
		names = append(names, level...)
		var next []string
		for _, n := range level {
			next = append(next, n+"a", n+"b")
		}
		level = next
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[ab*]{0,3}`).Filter(isPattern).Draw(t, "a")
		b := rapid.StringMatching(`[ab*]{0,3}`).Filter(isPattern).Draw(t, "b")
		want := false
		for _, n := range names {
			want = want || matchPattern(a, n) && matchPattern(b, n)
		}
		if got := endsOf(a).overlap(endsOf(b)); got != want {
			t.Fatalf("%q and %q overlap: %v, want %v", a, b, got, want)
		}
	})
}
