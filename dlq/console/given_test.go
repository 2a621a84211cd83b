package console_test

import (
	"strings"
	"testing"
)

// A reason that nobody gave is no text that stands behind a colon as if it were one.
func TestAReasonThatNobodyGaveIsSaidSo(t *testing.T) {
	f := setup(t)
	f.reviewable(20)
	f.gate()
	b := f.start(100)
	f.eventually("the canary is under way", func() bool { return f.bulks()[0].Replaying == 5 })
	p := f.person("dev-operator")
	if status, _ := p.post("/replays/"+b.ID+"/cancel", nil); status != 200 {
		t.Fatalf("cancel: status %d", status)
	}
	if status, _ := p.post("/lanes/BACKGROUND_LANE/pause", nil); status != 200 {
		t.Fatalf("pause: status %d", status)
	}
	for path, want := range map[string]string{
		"/replays/" + b.ID: "dev-operator cancelled it and gave no reason",
		"/replays":         "By dev-operator",
		"/lanes":           "Paused by dev-operator",
		"/":                "BACKGROUND_LANE is paused by dev-operator, who gave no reason",
	} {
		_, page := p.get(path)
		if text := plain(page); strings.Contains(text, "none given") || !strings.Contains(text, want) {
			t.Errorf("%s: %.2500s", path, text)
		}
	}
	if _, page := p.get("/lanes"); !strings.Contains(plain(page), "who gave no reason") {
		t.Error("the lanes do not say that no reason was given")
	}
}
