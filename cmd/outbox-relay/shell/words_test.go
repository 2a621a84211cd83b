package shell

import (
	"testing"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": "''", "e:a-1:2": "e:a-1:2", "a b": "'a b'", "a'b": `'a'\''b'`, "$(rm)": "'$(rm)'", "a%2Fb": "a%2Fb", "é": "'é'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}
