package jobs

import (
	"strings"
	"testing"
)

// TestNoMessageIsSentWithAValueThatIsNotThere: what is null in the event is as absent as what it does not
// name. A template may ask whether it is there.
func TestNoMessageIsSentWithAValueThatIsNotThere(t *testing.T) {
	event := map[string]any{"payload": map[string]any{"name": "Smith", "empty": nil, "list": []any{nil, "b"}}}
	for text, want := range map[string]string{
		"{{.event.payload.name}}":                                                                "Smith",
		"{{.event.payload.empty}}":                                                               "",
		"{{if .event.payload.name}}{{.event.payload.empty}}{{end}}":                              "",
		"{{if .event.payload.empty}}x{{else}}{{.event.payload.empty}}{{end}}":                    "",
		"{{range .event.payload.list}}{{.}}{{end}}":                                              "",
		"{{with .event.payload}}{{.empty}}{{end}}":                                               "",
		"{{$x := .event.payload.empty}}{{$x}}":                                                   "",
		"{{define \"part\"}}{{.empty}}{{end}}{{template \"part\" .event.payload}}":               "",
		"{{printf \"%s\" .event.payload.empty}}":                                                 "",
		"{{.event.payload.empty | printf \"%v\"}}":                                               "",
		"{{print .event.payload.name .event.payload.empty}}":                                     "",
		"{{println .event.payload.empty}}":                                                       "",
		"{{html .event.payload.empty}}":                                                          "",
		"{{.event.payload.empty | js}}":                                                          "",
		"{{.event.payload.empty | urlquery}}":                                                    "",
		"{{define \"part\"}}{{printf \"%s\" .empty}}{{end}}{{template \"part\" .event.payload}}": "",
		"{{if eq (print .event.payload.empty) \"5\"}}five{{else}}other{{end}}":                   "other",
		"{{if .event.payload.empty | printf \"%v\" | len | lt 9}}long{{else if (html .event.payload.empty | eq \"5\")}}five{{else}}other{{end}}": "other",
		"{{if print .event.payload.name}}{{print .event.payload.empty}}{{end}}":                                                                  "",
		"{{if $x := print .event.payload.empty}}{{$x}}{{end}}":                                                                                   "",
		"{{with print .event.payload.empty}}{{.}}{{end}}":                                                                                        "",
		"{{print .event.payload.name 1 | printf \"%s!\"}}":                                                                                       "Smith1!",
		"{{html \"<\" | js}}{{urlquery \"a b\"}}{{println}}.":                                                                                    "\\u0026lt;a+b\n.",
		"{{$x := .event.payload.empty}}nobody":                                                                                                   "nobody",
		"{{with .event.payload.empty}}{{.}}{{else}}nobody{{end}}":                                                                                "nobody",
		"{{or .event.payload.empty \"nobody\"}}":                                                                                                 "nobody",
		"{{len .event.payload.name | printf \"%03d\"}}":                                                                                          "005",
		"{{/* nothing */}}{{range $i, $v := .event.payload.list}}{{$i}}{{end}}":                                                                  "01",
		"{{range .event.payload.list}}{{if not .}}{{continue}}{{end}}{{.}}{{break}}{{end}}":                                                      "b",
	} {
		templates, err := NewTemplates(map[string]Text{"x": {Title: text, Body: text}})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		title, body, err := templates.render("x", Message{Event: event})
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "null")):
			t.Errorf("%s: sent as %q, %v, want an error that says what is missing", text, body, err)
		case want != "" && (err != nil || title != strings.ReplaceAll(want, "\n", " ") || body != want):
			t.Errorf("%s: got %q, %q, %v, want %q", text, title, body, err, want)
		}
	}
}
