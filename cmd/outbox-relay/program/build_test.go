package program

import (
	"strings"
	"testing"
)

func TestBuildIsBounded(t *testing.T) {
	b := Build{Version: strings.Repeat("v", 1000), Commit: strings.Repeat("c", 1000)}.bounded()
	if len(b.Version) != maxVersion || len(b.Commit) != maxVersion {
		t.Errorf("%d and %d letters", len(b.Version), len(b.Commit))
	}
	if got := (Build{}).bounded().Of("outbox-relay"); got != "outbox-relay unknown" {
		t.Errorf("a build that tells nothing is %q", got)
	}
}
