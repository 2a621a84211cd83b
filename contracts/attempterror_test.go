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

func TestClipTo(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"short", "fine", 10, "fine"},
		{"as long as it may be", "añ", 3, "añ"},
		{"cut between characters", "añb", 3, "añ"},
		{"cut inside a character", "añb", 2, "a"},
		{"not UTF-8", "a\xff\xfeb", 10, "a\uFFFDb"},
		{"not UTF-8, and grows when mended", "\xff \xff \xff ", 6, "\uFFFD "},
		{"nothing fits", "ñ", 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ClipTo(tc.text, tc.most); got != tc.want {
				t.Errorf("ClipTo(%q, %d) is %q, want %q", tc.text, tc.most, got, tc.want)
			}
		})
	}
}
