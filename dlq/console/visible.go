package console

import (
	"fmt"
	"strings"
	"unicode"
)

// visible shows what would not be seen, or would change how the rest is read:
// control characters, marks that turn the direction of writing, and whatever leaves
// the space of a letter empty, or none. Records come from outside, and a name that
// looks like another is how people are misled.
func visible(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&out, "\u2039U+%04X\u203a", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func hidden(r rune) bool {
	switch r {
	case ' ', '\n', '\t':
		return false
	case '\u2800': // a Braille pattern without dots
		return true
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Zs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
