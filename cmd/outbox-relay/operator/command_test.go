package operator

import (
	"strings"
	"testing"

	"outboxrelay/cmd/outbox-relay/adminapi"
)

func TestCommandsThatAreShownCanBePasted(t *testing.T) {
	for id, want := range map[string]string{
		"7f0c:acc-1:3":  "outbox-relay dlq discard 7f0c:acc-1:3 --reason '...'",
		"it's 漢":        `outbox-relay dlq discard 'it'\''s 漢' --reason '...'`,
		"a\nrm -rf .":   "",
		"a\tb":          "",
		"\u202egnorw":   "",
		"space\u00a0ed": "",
		"--yes":         "",
	} {
		d, stdout, _ := counter(t, nil)
		d.possible(adminapi.Item{ID: id, Actions: []adminapi.Possible{{Action: "discard", Allowed: true}}, PayloadWithheld: "covered"})
		d.mayRequeue("jobs", adminapi.QueueItem{ID: id, Requeue: adminapi.QueueRequeue{Allowed: true}})
		got := stdout.String() + d.unwaited(id, "interrupted").Error() + d.unfollowed(&progress{}, id, "").Error()
		if want == "" {
			if strings.Contains(got, "outbox-relay") || strings.Count(got, noCommand) != 2 {
				t.Errorf("%q: told %q", id, got)
			}
			continue
		}
		if !strings.Contains(got, want) || strings.Count(got, "outbox-relay") != 6 {
			t.Errorf("%q: told %q", id, got)
		}
	}
}
