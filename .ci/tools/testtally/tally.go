package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// outcome of a test. A higher one wins over a lower one of another run.
type outcome int

const (
	skipped outcome = iota + 1
	passed
	failed
)

// tally holds each test's outcome. A package that failed with no test to blame,
// because it did not build or its binary died, counts as a failed test.
type tally map[name]outcome

// leftOut lists the tests that were skipped by every run since they
// take long, which each run took to be another's matter. long are those that were.
func (t tally) leftOut(long map[name]bool) []name {
	var out []name
	for n := range long {
		if t[n] == skipped {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b name) int { return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test) })
	return out
}

// add counts a run, and prints the line with which go test closes each package
// that has tests in it. The flaky ones of it have passed.
func (t tally) add(r io.Reader, flaky []name, out io.Writer) error {
	blamed := map[string]bool{} // packages with a failed test
	for e, err := range events(r) {
		if err != nil {
			return err
		}
		excused := isFlaky(e, flaky)
		if closesPackage(e) && !excused {
			if _, err := io.WriteString(out, e.Output); err != nil {
				return err
			}
		}
		n := name{e.Package, e.Test}
		switch {
		case e.Action == "fail" && excused:
			if e.Test != "" {
				t.raise(n, passed)
			}
		case e.Action == "fail" && (e.Test != "" || !blamed[e.Package]):
			blamed[e.Package] = true
			t.raise(n, failed)
		case e.Test == "":
		case e.Action == "pass":
			t.raise(n, passed)
		case e.Action == "skip":
			t.raise(n, skipped)
		}
	}
	return nil
}

// isFlaky tells whether an event is of a flaky test, or of the failure of a package
// that has one: had it failed for another reason too, there were no second try.
func isFlaky(e event, flaky []name) bool {
	test, _, _ := strings.Cut(e.Test, "/")
	return slices.ContainsFunc(flaky, func(n name) bool {
		if test != "" {
			return n == name{e.Package, test}
		}
		return n.pkg == e.Package && (e.Action == "fail" || strings.HasPrefix(e.Output, "FAIL\t"))
	})
}

func (t tally) raise(n name, to outcome) { t[n] = max(t[n], to) }

// closesPackage tells a package's last line, unless no test of it ran.
func closesPackage(e event) bool {
	if e.Action != "output" || e.Test != "" || strings.Contains(e.Output, "[no tests to run]") {
		return false
	}
	return strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "FAIL\t")
}

func (t tally) closing(alsoFailed int) string {
	counts := map[outcome]int{failed: alsoFailed}
	for _, o := range t {
		counts[o]++
	}
	return fmt.Sprintf("%d passed, %d failed, %d skipped", counts[passed], counts[failed], counts[skipped])
}
