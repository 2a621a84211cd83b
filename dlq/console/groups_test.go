package console_test

import (
	"strings"
	"testing"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func TestGroupsCountByEventAndError(t *testing.T) {
	f := setup(t)
	f.many(7)
	timeout := func(n int, i *dlq.Item) {
		i.Errors = []contracts.AttemptError{{At: i.DeadAt, Attempt: 1, Target: "T", Code: "DeadlineExceeded", Message: "no answer to message 17 in time"}}
	}
	slow := f.many(2, timeout)
	p := f.person("dev-operator")
	_, text := p.get("/groups")
	for _, want := range []string{
		"<strong>9 dead letters</strong> in 2 kinds of error", "<strong>7</strong>", "<strong>2</strong>", "no answer to message &lt;n&gt; in time",
		`href="/console/dlq?group=` + slow[0].Group + `"`, `href="/console/replays/new?group=` + slow[0].Group + `"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Index(text, "<strong>7</strong>") > strings.Index(text, "<strong>2</strong>") {
		t.Error("the most numerous kind is not the first")
	}
	if _, text := p.get("/dlq?group=" + slow[0].Group); len(shown(text)) != 2 {
		t.Errorf("the group's list shows %d, want 2", len(shown(text)))
	}
	if _, text := f.person("dev-viewer").get("/groups"); strings.Contains(text, "/replays/new") || !strings.Contains(text, "it needs the role operator") {
		t.Error("a viewer is not told why a group cannot be replayed")
	}
}

func TestGroupsHavePages(t *testing.T) {
	f := setup(t)
	f.many(45, func(n int, i *dlq.Item) {
		i.Errors[len(i.Errors)-1].Code = "Code" + strings.Repeat("x", n)
	})
	p := f.person("dev-viewer")
	seen, path := make(map[string]bool), "/groups"
	for path != "" {
		_, text := p.get(path)
		for _, at := range shown(text) {
			seen[at] = true
		}
		path = found(text, nextLink)
	}
	if len(seen) != 45 {
		t.Errorf("%d kinds on all pages, want 45", len(seen))
	}
	if _, text := p.get("/groups?pageToken=nonsense"); !strings.Contains(text, "This page cannot be shown") {
		t.Error("a damaged token is not told")
	}
}
