// Package terminal makes text from outside fit to be printed.
package terminal

import (
	"strings"
	"unicode"
)

// Line makes what others wrote fit for one line: no line breaks, and no control
// sequences that would draw or type something.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Lines is Line for text of several lines: their breaks stay.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n")
}
