package relay

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

func TestClip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat(rapid.StringN(1, 20, 80).Draw(t, "text"), rapid.IntRange(0, 200).Draw(t, "times"))
		got := clip(s)
		switch {
		case !strings.HasPrefix(s, got) || len(got) > contracts.MaxErrorBytes || !utf8.ValidString(got):
			t.Fatalf("clip(%q) is %q", s, got)
		case len(s) <= contracts.MaxErrorBytes && got != s, len(s) > contracts.MaxErrorBytes && len(got) < contracts.MaxErrorBytes-utf8.UTFMax:
			t.Fatalf("clip cut %d bytes to %d", len(s), len(got))
		}
	})
}

func TestBackoff(t *testing.T) {
	p := contracts.RetryPolicy{Initial: 500 * time.Millisecond, Max: 10 * time.Second, Multiplier: 4}
	for attempts, most := range map[int]time.Duration{1: 500 * time.Millisecond, 2: 2 * time.Second, 3: 8 * time.Second, 4: 10 * time.Second, 1000: 10 * time.Second} {
		if got := backoff(p, attempts, 0); got != 0 {
			t.Errorf("after %d attempts the least wait is %v, want 0", attempts, got)
		}
		if got := backoff(p, attempts, 0.5); got != most/2 {
			t.Errorf("after %d attempts the middle wait is %v, want %v", attempts, got, most/2)
		}
	}
}

func TestRoughSizeCountsTheLargeParts(t *testing.T) {
	v := map[string]any{"text": strings.Repeat("x", 1000), "list": []any{[]byte("12345"), map[string]any{"n": int64(1)}}}
	if got := roughSize(v); got < 1000 || got > 1100 {
		t.Errorf("got %d, want a little over 1000", got)
	}
}
