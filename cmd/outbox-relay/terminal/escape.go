package terminal

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape makes JSON, or lines that hold some, fit to be printed: what would draw
// or type something is written as JSON writes it (\u202e), which means the same.
// Line breaks and tabs stay.
func Escape(text []byte) []byte {
	if utf8.Valid(text) && bytes.IndexFunc(text, draws) < 0 {
		return text
	}
	var out bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case draws(r) || r == utf8.RuneError && size == 1:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		default:
			out.Write(text[:size])
		}
		text = text[size:]
	}
	return out.Bytes()
}

// draws reports whether a character does more than stand in its place.
func draws(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }

// Escaping returns a writer that escapes what is written to w. Each Write holds
// whole characters.
func Escaping(w io.Writer) io.Writer { return escaping{w} }

type escaping struct{ w io.Writer }

// Write implements io.Writer.
func (e escaping) Write(p []byte) (int, error) {
	if _, err := e.w.Write(Escape(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
