package console

import (
	"net/url"
	"strings"
	"testing"
)

// TestStillFitsIntoAnAddress: the API takes 8 KiB, whatever the IDs consist of.
func TestStillFitsIntoAnAddress(t *testing.T) {
	remembered := 0
	for _, letter := range []string{"a", "&", "<", ">", `"`, "\\", "/", "\x00", "é", "😀", "\u2028", "\xff"} {
		for n := 1; n <= 1<<12; n *= 2 {
			s := &still{IDs: []string{strings.Repeat(letter, n), strings.Repeat(letter, n)}}
			if s.address(filter{}, "") == "" {
				break
			}
			remembered++
			if asked := (url.Values{"ids": {s.named()}}).Encode(); len(asked) > 7<<10 {
				t.Errorf("two IDs of %d times %q are asked for with %d bytes", n, letter, len(asked))
			}
		}
	}
	if remembered == 0 {
		t.Error("none is remembered")
	}
}
