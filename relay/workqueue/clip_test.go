package workqueue

import "testing"

func TestClip(t *testing.T) {
	t.Parallel()
	if got := Clip("añb", 2); got != "a" {
		t.Errorf("cut within a letter: %q", got)
	}
	if got := Clip("a\xff", 10); got != "a\uFFFD" {
		t.Errorf("no UTF-8: %q", got)
	}
}
