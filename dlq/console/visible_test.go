package console

import (
	"html/template"
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

func TestApartKeepsRunsFromRightToLeftApart(t *testing.T) {
	for text, want := range map[string]any{
		"":                         "",
		"acc-1 <b>":                "acc-1 <b>",
		"7f0c:אבג:3":               template.HTML("7f0c:<bdi>אבג</bdi>:3"),
		"אב:גד:3":                  template.HTML("<bdi>אב</bdi>:<bdi>גד</bdi>:3"),
		"שלום, עולם (12)":          template.HTML("<bdi>שלום, עולם</bdi> (12)"),
		"<b>مرحبا</b>&amp;":        template.HTML("&lt;b&gt;<bdi>مرحبا</bdi>&lt;/b&gt;&amp;amp;"),
		`צה"ל, צ'ק 7`:              template.HTML("<bdi>צה&#34;ל, צ&#39;ק</bdi> 7"),
		`{"שם":"ערך"}`:             template.HTML("{&#34;<bdi>שם</bdi>&#34;:&#34;<bdi>ערך</bdi>&#34;}"),
		`א"<b>"ב`:                  template.HTML("<bdi>א</bdi>&#34;&lt;b&gt;&#34;<bdi>ב</bdi>"),
		"שלום\nעולם":               template.HTML("<bdi>שלום</bdi>\n<bdi>עולם</bdi>"),
		"\U0001e900\U0001e901 7":   template.HTML("<bdi>\U0001e900\U0001e901</bdi> 7"),
		"\u05d0\u202e\u05d1 and 8": template.HTML("<bdi>\u05d0</bdi>‹U+202E›<bdi>\u05d1</bdi> and 8"),
	} {
		if got := apart(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
