package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// Templates are texts of messages, by ID. The zero value has none.
type Templates struct{ byID map[string]textTemplate }

type textTemplate struct{ title, body *template.Template }

// Text is one template's, as ParseTemplates reads it.
type Text struct{ Title, Body string }

// ParseTemplates reads templates in YAML: by ID a title of one line and a body, in the language
// of Go's text/template. They see .event (the domain event's fields, so that its payload is
// .event.payload), .orgId and .recipientId. A name that is not there, and a value to be
// written that is null, is an error when the message is made. All faults are told at once.
//
//	matter-created:
//	  title: New matter {{.event.payload.name}}
//	  body: |
//	    {{.event.actor}} has created it.
func ParseTemplates(text []byte) (Templates, error) {
	var raw map[string]Text
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&raw); err != nil {
		return Templates{}, fmt.Errorf("read templates: %w", err)
	}
	return NewTemplates(raw)
}

// NewTemplates makes templates of their texts. All faults are told at once.
func NewTemplates(texts map[string]Text) (Templates, error) {
	t := Templates{byID: map[string]textTemplate{}}
	var faults []string
	parse := func(id, part, text string) *template.Template {
		parsed, err := template.New(id + "." + part).Option("missingkey=error").Parse(text)
		if err != nil {
			faults = append(faults, err.Error())
		} else {
			refuseNull(parsed)
		}
		if text == "" {
			faults = append(faults, id+": "+part+" is missing")
		}
		return parsed
	}
	for id, r := range texts {
		t.byID[id] = textTemplate{parse(id, "title", r.Title), parse(id, "body", r.Body)}
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return Templates{}, errors.New("read templates: " + strings.Join(faults, "; "))
	}
	return t, nil
}

// maxText is how long a title or a body may become, in bytes: both fit into a document
// and into a message of Pub/Sub.
const maxText = 256 << 10

// text is what a template has written.
type text struct{ out strings.Builder }

func (t *text) Write(p []byte) (int, error) {
	if t.out.Len()+len(p) > maxText {
		return 0, fmt.Errorf("the text is longer than %d bytes", maxText)
	}
	return t.out.Write(p)
}

// String is the text without what is no UTF-8, as of a letter that the template has cut.
func (t *text) String() string { return strings.ToValidUTF8(t.out.String(), "\uFFFD") }

// none reports whether there are no templates at all.
func (t Templates) none() bool { return len(t.byID) == 0 }

// render fills in a template. Line breaks in a title become blanks.
func (t Templates) render(id string, m Message) (title, body string, err error) {
	texts, ok := t.byID[id]
	if !ok {
		return "", "", fmt.Errorf("there is no template %q", id)
	}
	data := map[string]any{"event": m.Event, "orgId": m.OrgID, "recipientId": m.RecipientID}
	var out [2]text
	for i, part := range []*template.Template{texts.title, texts.body} {
		if err := part.Execute(&out[i], data); err != nil {
			return "", "", err
		}
	}
	return strings.Join(strings.Fields(out[0].String()), " "), out[1].String(), nil
}
