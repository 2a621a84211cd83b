package node

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// inJavaScript writes a pattern that the relay's engine knows as one that JavaScript, asked for
// Unicode, takes to mean the same: what the two write alike they do not always read alike, such
// as \s, \A or (?i).
func inJavaScript(pattern string) (string, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl) // as regexp.Compile does
	if err != nil {
		return "", err
	}
	var b strings.Builder
	writePattern(&b, parsed)
	return b.String(), nil
}

// anchors are what takes no character, by its name in JavaScript. Words are made of ASCII.
var anchors = map[syntax.Op]string{
	syntax.OpNoMatch:        `[^\s\S]`,
	syntax.OpEmptyMatch:     `(?:)`,
	syntax.OpAnyCharNotNL:   `[^\n]`,
	syntax.OpAnyChar:        `[\s\S]`,
	syntax.OpBeginLine:      `(?<![^\n])`,
	syntax.OpEndLine:        `(?![^\n])`,
	syntax.OpBeginText:      `^`,
	syntax.OpEndText:        `$`,
	syntax.OpWordBoundary:   `\b`,
	syntax.OpNoWordBoundary: `\B`,
}

func writePattern(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			writeLetter(b, r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		writeClass(b, re.Rune)
	case syntax.OpCapture, syntax.OpConcat, syntax.OpAlternate:
		between := ""
		if re.Op == syntax.OpAlternate {
			between = "|"
		}
		group(b, func() {
			for i, sub := range re.Sub {
				if i > 0 {
					b.WriteString(between)
				}
				writePattern(b, sub)
			}
		})
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		group(b, func() { writePattern(b, re.Sub[0]) })
		b.WriteString(times(re))
	default:
		b.WriteString(anchors[re.Op])
	}
}

func group(b *strings.Builder, inside func()) {
	b.WriteString("(?:")
	inside()
	b.WriteByte(')')
}

// times tells how often what stands before it may come. Whether few or many are tried first
// changes nothing of whether a text matches.
func times(re *syntax.Regexp) string {
	switch {
	case re.Op == syntax.OpStar:
		return "*"
	case re.Op == syntax.OpPlus:
		return "+"
	case re.Op == syntax.OpQuest:
		return "?"
	case re.Max < 0:
		return fmt.Sprintf("{%d,}", re.Min)
	case re.Max == re.Min:
		return fmt.Sprintf("{%d}", re.Min)
	}
	return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
}

// writeLetter writes one character, with those that it is folded to where case is not told.
func writeLetter(b *strings.Builder, r rune, fold bool) {
	if !fold || unicode.SimpleFold(r) == r {
		writeRune(b, r)
		return
	}
	both := []rune{r, r}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		both = append(both, other, other)
	}
	writeClass(b, both)
}

// writeClass writes ranges, each by its first and its last character.
func writeClass(b *strings.Builder, ranges []rune) {
	b.WriteByte('[')
	for i := 0; i+1 < len(ranges); i += 2 {
		writeRune(b, ranges[i])
		if ranges[i+1] != ranges[i] {
			b.WriteByte('-')
			writeRune(b, ranges[i+1])
		}
	}
	b.WriteByte(']')
}

func writeRune(b *strings.Builder, r rune) {
	switch {
	case strings.ContainsRune(`^$\.*+?()[]{}|/`, r):
		b.WriteByte('\\')
		b.WriteRune(r)
	case r > ' ' && r < 0x7f && r != '-':
		b.WriteRune(r)
	default:
		fmt.Fprintf(b, `\u{%x}`, r)
	}
}
