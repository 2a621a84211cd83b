package appender

import (
	"errors"
	"strings"
	"testing"
)

func TestBadRecordIsToldAsText(t *testing.T) {
	var out strings.Builder
	refuse(&out, "records.jsonl", 3, errors.New("a\x1b[2J field\u202e\nand another"))
	if got, want := out.String(), "records.jsonl:3: a\uFFFD[2J field\uFFFD\nand another\n"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
