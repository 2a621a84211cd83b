package console

import (
	"html/template"
	"regexp"
)

// fromRightToLeft is a run, in escaped text, of what is written from right to left: words,
// with the spaces and stops between them, and the quotes within them: Hebrew has them in
// abbreviations.
var fromRightToLeft = regexp.MustCompile(`[` + rightToLeft + `]+(?:(?:&#3[49];|[.,;:!?]?[ \t]+)[` + rightToLeft + `]+)*`)

// rightToLeft are the blocks of such scripts.
const rightToLeft = `\x{0590}-\x{08FF}\x{FB1D}-\x{FDFF}\x{FE70}-\x{FEFE}\x{10800}-\x{10FFF}\x{1E800}-\x{1EFFF}`

// apart is a text, made visible, of which such a run does not turn around what stands
// beside it: the ID 7f0c:שלום:3 else shows its version before the name. It is a string,
// which the template escapes, or HTML; of that nothing but the text comes into an attribute.
func apart(text string) any {
	text = visible(text)
	if !fromRightToLeft.MatchString(text) {
		return text
	}
	return template.HTML(fromRightToLeft.ReplaceAllString(template.HTMLEscapeString(text), "<bdi>$0</bdi>")) //nolint:gosec // it is escaped
}
