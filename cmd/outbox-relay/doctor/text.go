package doctor

import (
	"fmt"
	"io"
	"strings"

	"outboxrelay/cmd/outbox-relay/terminal"
)

// marks stand in front of findings. They are words, so that no reader depends on
// colours.
var marks = map[Result]string{OK: "ok  ", Warn: "WARN", Fail: "FAIL", Skip: "skip"}

// WriteText writes the report for people: each finding in a line, and below it
// what to do.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, g := range r.Groups {
		fmt.Fprintf(&b, "%s\n", g.Name)
		width := 0
		for _, f := range g.Findings {
			width = max(width, len(f.Check))
		}
		for _, f := range g.Findings {
			text := f.Detail
			if f.Subject != "" {
				text = f.Subject + ": " + text
			}
			lines := strings.Split(text, "\n")
			fmt.Fprintf(&b, "  %s  %-*s  %s\n", marks[f.Result], width, f.Check, terminal.Line(lines[0]))
			for _, line := range lines[1:] {
				fmt.Fprintf(&b, "        %*s  %s\n", width, "", terminal.Line(line))
			}
			if f.Hint != "" {
				fmt.Fprintf(&b, "        %*s  -> %s\n", width, "", terminal.Line(f.Hint))
			}
			for _, m := range f.Mend {
				fmt.Fprintf(&b, "        %*s  $ %s\n", width, "", terminal.Line(m))
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s: %d ok, %d to heed, %d failed, %d not judged\n", r.verdict(), r.Counts.OK, r.Counts.Warn, r.Counts.Fail, r.Counts.Skip)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) verdict() string {
	switch r.Verdict {
	case Fail:
		return "not fit to run"
	case Warn:
		return "fit to run, with something to heed"
	}
	return "fit to run"
}
