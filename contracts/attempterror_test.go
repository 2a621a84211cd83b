package contracts

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat(rapid.StringN(1, 20, 80).Draw(t, "text"), rapid.IntRange(0, 200).Draw(t, "times"))
		got := Clip(s)
		switch {
		case !strings.HasPrefix(s, got) || len(got) > MaxErrorBytes || !utf8.ValidString(got):
			t.Fatalf("Clip(%q) is %q", s, got)
		case len(s) <= MaxErrorBytes && got != s, len(s) > MaxErrorBytes && len(got) < MaxErrorBytes-utf8.UTFMax:
			t.Fatalf("Clip cut %d bytes to %d", len(s), len(got))
		}
	})
}
