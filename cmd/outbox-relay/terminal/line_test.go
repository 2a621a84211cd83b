package terminal

import (
	"testing"
)

func TestLineTakesOutControlSequences(t *testing.T) {
	if got, want := Line("a\x1b[31mb\nc\td\u202Ee"), "a\uFFFD[31mb c d\uFFFDe"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}
