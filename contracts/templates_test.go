package contracts

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTemplates(t *testing.T) {
	text := soundTargets + box(soundEvent) + `templates:
  matter-created:
    title: New matter {{.event.payload.name}}
    body: |
      {{.event.actor}} has created it, {{.recipientId}}.
      {{range .event.payload.tasks}}{{.name}} of {{$.orgId}}{{else}}none{{end}}
      {{with .event.payload.due}}{{.}}{{end}}{{if .event.entityId}}{{printf "%s" .event.entityId}}{{end}}
`
	cat, err := ParseCatalog("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := cat.Templates["matter-created"]; got.Title != "New matter {{.event.payload.name}}" || strings.Count(got.Body, "\n") != 3 {
		t.Errorf("got %+v", got)
	}
	roundTrip(t, cat)
}

func TestTemplateFaults(t *testing.T) {
	text := soundTargets + box(soundEvent) + `templates:
  a:
    title: "{{.evnt.payload}} {{.event.payloads}}"
    body: |
      fine
      {{if .orgId}}
      {{nosuch}}
  b: {title: x, text: y}
  c:
  d: [x]
  e: {title: "", body: "{{range .event.payload.x}}{{$.who}}{{end}}"}
`
	_, err := ParseCatalog("c.yaml", []byte(text), nil)
	invalid, ok := errors.AsType[*CatalogError](err)
	if !ok {
		t.Fatalf("got %v, want faults", err)
	}
	want := []string{
		`c.yaml:10: template a: title: a message has no .evnt; use .event, .orgId or .recipientId`,
		`c.yaml:10: template a: title: a domain event has no field payloads; look below .event.payload, or use one of eventId, orgId, eventType, entityType, entityId, actor, timestamp, payload, visibility`,
		`c.yaml:14: template a: body: function "nosuch" not defined; mend the template`,
		`c.yaml:15: template b: unknown key "text"; remove it or use one of title, body`,
		`c.yaml:15: template b: key "body" is missing; add it`,
		`c.yaml:16: templates: "c" has no value; give it one or leave the key out`,
		`c.yaml:17: template d is a list, not a mapping; write it as key: value lines`,
		`c.yaml:18: template e: title is empty; give it a value`,
		`c.yaml:18: template e: body: a message has no .who; use .event, .orgId or .recipientId`,
	}
	if diff := cmp.Diff(want, strings.Split(invalid.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobsTopic(t *testing.T) {
	cat, err := DefaultCatalog()
	if err != nil {
		t.Fatal(err)
	}
	with, err := cat.WithJobsTopic("job-messages")
	if err != nil || !strings.Contains(strings.Join(with.Topics(), " "), "job-messages") || strings.Contains(strings.Join(cat.Topics(), " "), "job-messages") {
		t.Errorf("got %v, %v", with.Topics(), err)
	}
	if same, err := cat.WithJobsTopic(""); err != nil || same != cat {
		t.Errorf("without one: %v", err)
	}
	for _, topic := range []string{"x", "google-x", TopicErrors, "a topic"} {
		if _, err := cat.WithJobsTopic(topic); err == nil {
			t.Errorf("%q is taken", topic)
		}
	}
}
