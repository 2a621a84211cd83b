package dlq

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestID(t *testing.T) {
	long := strings.Repeat("k", 1501)
	tests := []struct{ name, key, want string }{
		{"plain", "e:agg:1", "e:agg:1"},
		{"slash", "e:a/b:1", "e:a%2Fb:1"},
		{"percent", "e:a%2Fb:1", "e:a%252Fb:1"},
		{"dot", ".", "%2E"},
		{"two dots", "..", "%2E."},
		{"reserved", "__x__", "%5F_x__"},
		{"longest", long[:1500], long[:1500]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ID(test.key); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Whatever the key, its ID is one that Firestore takes.
func FuzzID(f *testing.F) {
	for _, key := range []string{"", "a/b", "%", "__a__", "____", "..", strings.Repeat("é", 900), "\xff\xfe"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		id := ID(key)
		switch {
		case key != "" && id == "", id == ".", id == "..", len(id) > 1500, strings.Contains(id, "/"), !utf8.ValidString(id):
			t.Errorf("ID(%q) is %q", key, id)
		case strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__") && len(id) >= 4:
			t.Errorf("ID(%q) is reserved: %q", key, id)
		}
	})
}

func TestDifferentKeysHaveDifferentIDs(t *testing.T) {
	keys := rapid.OneOf(rapid.StringOf(rapid.RuneFrom([]rune("a./%_~2FE5é"))), rapid.StringN(0, 3000, -1))
	rapid.Check(t, func(t *rapid.T) {
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		if a != b && ID(a) == ID(b) {
			t.Fatalf("%q and %q share the ID %q", a, b, ID(a))
		}
	})
}
