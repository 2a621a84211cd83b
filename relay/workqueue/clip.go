package workqueue

import "strings"

// Clip cuts a text to so many bytes, between characters. What is no UTF-8 in it becomes
// U+FFFD.
func Clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") // without what the cut leaves of a character
	}
	return text
}
