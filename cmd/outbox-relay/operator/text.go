package operator

import (
	"time"

	"outboxrelay/cmd/outbox-relay/terminal"
)

// brief is clean text of at most n characters.
func brief(s string, n int) string {
	runes := []rune(terminal.Line(s))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}

// moment is a time as people here read it, with its zone; "-" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(printed)
}

// orDash stands for nothing in a table.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
