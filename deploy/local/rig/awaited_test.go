package rig

import "testing"

func TestAwaitedText(t *testing.T) {
	a := NewAwaited("serving")
	for _, part := range []string{"a line\nser", "ving soon"} {
		if _, err := a.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-a.Seen():
	default:
		t.Error("a text that came in two parts was not seen")
	}
	if _, err := a.Write([]byte("serving")); err != nil { // again: must not close twice
		t.Fatal(err)
	}
}
