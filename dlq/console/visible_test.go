package console

import (
	"strings"
	"testing"
)

func TestVisibleShowsWhatCannotBeSeen(t *testing.T) {
	for _, text := range []string{
		"\x00", "\u007f", "\u0085", "\u00a0", "\u00ad", "\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u2000", "\u200b", "\u200f", "\u2028", "\u202e", "\u2060", "\u2065",
		"\u2800", "\u3000", "\u3164", "\ufe0e", "\ufe0f", "\ufeff", "\uffa0", "\ufff0", "\U000e0041", "\U000e0100", "\ue000",
	} {
		if got := visible("acc-1" + text); !strings.HasPrefix(got, "acc-1\u2039U+") {
			t.Errorf("acc-1%+q is shown as %q, like another", text, got)
		}
	}
	for _, text := range []string{"", "acc-1", "two words\n\tand more", "Überweisung €5", "日本語", "한글", "עברית", "e\u0301", "😀", "⠿"} {
		if got := visible(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}
