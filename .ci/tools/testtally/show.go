package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// name is a test, or with an empty test a package.
type name struct {
	pkg, test string
}

// show prints what a reader of plain go test sees: each package's closing lines,
// and before them all that its failing tests printed.
func show(in io.Reader, out io.Writer) error {
	printed := map[name][]string{}
	for e, err := range events(in) {
		if err != nil {
			return err
		}
		n := name{e.Package, e.Test}
		var text string
		switch {
		case e.Action == "output" && e.Package == "", e.Action == "build-output":
			text = e.Output
		case e.Action == "output":
			printed[n] = append(printed[n], e.Output)
		case e.Action == "fail":
			text = strings.Join(printed[n], "")
			delete(printed, n)
		case e.Action == "pass" && e.Test == "", e.Action == "skip" && e.Test == "":
			text = closing(printed[n])
			delete(printed, n)
		case e.Action == "pass", e.Action == "skip":
			delete(printed, n)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	// A binary that died left tests that neither passed nor failed.
	left := make([]name, 0, len(printed))
	for n := range printed {
		left = append(left, n)
	}
	slices.SortFunc(left, func(a, b name) int { return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test) })
	for _, n := range left {
		if _, err := io.WriteString(out, strings.Join(printed[n], "")); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// closing is the last line that a package printed, its "ok" or "no test files".
func closing(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
