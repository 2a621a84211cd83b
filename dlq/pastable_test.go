package dlq

import "testing"

func TestPastableIsWhatCanBeSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"7f0c:acc-1:3": true, "it's 漢 é": true, "": true,
		"a\nrm -rf": false, "a\tb": false, "\x1b[2J": false, "\u202ea": false, "a\u00a0b": false, "\u200b": false,
	} {
		if Pastable(text) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}
