package dlq

import (
	"strings"
	"unicode"
)

// Pastable reports whether a text can stand in a command that people paste into a
// terminal: what is typed by a control character in it would be run, and what cannot be
// seen cannot be checked.
func Pastable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
