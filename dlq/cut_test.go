package dlq

import (
	"strings"
	"testing"
)

func TestSizeOfCountsTheLargeParts(t *testing.T) {
	v := map[string]any{"text": strings.Repeat("x", 1000), "list": []any{[]byte("12345"), map[string]any{"n": int64(1)}}}
	if got := SizeOf(v); got < 1000 || got > 1100 {
		t.Errorf("got %d, want a little over 1000", got)
	}
}
