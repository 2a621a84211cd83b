package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// again lists the tests of a run that failed and may run once more: those on
// Google's emulators, or in a browser. An error names what failed besides, which
// no second try can mend.
func again(r io.Reader, where string) ([]name, error) {
	run, err := readRun(r)
	if err != nil {
		return nil, err
	}
	var tries []name
	var faults []error
	for _, n := range run.failedTests() {
		switch {
		case run.raced[n]:
			faults = append(faults, fmt.Errorf("%s of %s failed with a data race", n.test, n.pkg))
		case where == inBrowser && !run.browser[n]:
			faults = append(faults, fmt.Errorf("%s of %s failed, and needs no browser", n.test, n.pkg))
		default:
			tries = append(tries, n)
		}
	}
	for pkg := range run.failed {
		switch {
		case run.died[pkg]:
			faults = append(faults, fmt.Errorf("the tests of %s ended before all had run", pkg))
		case !slices.ContainsFunc(run.failedTests(), func(n name) bool { return n.pkg == pkg }):
			faults = append(faults, fmt.Errorf("%s failed without a test to blame", pkg))
		}
	}
	return tries, errors.Join(faults...)
}

// Where the tests of a run may fail once.
const (
	onGoogle  = "google"  // all of them: the whole run is on Google's emulators
	inBrowser = "browser" // those that say so, by the attribute "needs" of their log
)

// run is what a run of go test -json tells of its failures. Tests are those at the
// top, whichever of their subtests it was.
type run struct {
	tests   map[name]bool // whether it failed
	raced   map[name]bool
	browser map[name]bool
	long    map[name]bool   // left out as they take long; by their whole name
	failed  map[string]bool // packages
	died    map[string]bool // packages whose binary ended by a panic, or was killed
	output  map[name][]string
}

func readRun(r io.Reader) (*run, error) {
	run := &run{
		tests: map[name]bool{}, raced: map[name]bool{}, browser: map[name]bool{}, long: map[name]bool{},
		failed: map[string]bool{}, died: map[string]bool{}, output: map[name][]string{},
	}
	begun := map[name]bool{}
	for e, err := range events(r) {
		if err != nil {
			return nil, err
		}
		run.take(e)
		switch n := (name{e.Package, e.Test}); e.Action {
		case "run":
			begun[n] = true
		case "pass", "fail", "skip":
			delete(begun, n)
		}
	}
	for n := range begun { // as at a time-out
		run.died[n.pkg] = true
	}
	return run, nil
}

func (r *run) take(e event) {
	test, _, _ := strings.Cut(e.Test, "/")
	n := name{e.Package, test}
	switch {
	case e.Action == "attr" && e.Key == "needs" && e.Value == inBrowser:
		r.browser[n] = true
	case e.Action == "attr" && e.Key == "needs" && e.Value == "time":
		r.long[name{e.Package, e.Test}] = true
	case e.Action == "output":
		if test != "" {
			r.output[n] = append(r.output[n], e.Output)
		}
		// A test that fails ends its package with 1, a panic with 2.
		if strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ") || strings.HasPrefix(e.Output, "exit status 2") {
			r.died[e.Package] = true
		}
		if strings.HasPrefix(e.Output, "WARNING: DATA RACE") {
			r.raced[n] = true
		}
	case e.Action == "fail" && test == "":
		r.failed[e.Package] = true
	case e.Action == "build-fail":
		r.failed[e.ImportPath] = true
	case e.Action == "fail":
		r.tests[n] = true
	case e.Action == "pass" && e.Test == test && test != "":
		if _, seen := r.tests[n]; !seen {
			r.tests[n] = false
		}
	}
}

// failedTests is in the order of their names.
func (r *run) failedTests() []name {
	var failed []name
	for n, bad := range r.tests {
		if bad {
			failed = append(failed, n)
		}
	}
	slices.SortFunc(failed, func(a, b name) int { return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test) })
	return failed
}

// flaky lists the tests that failed in the first run and passed in the second.
func flaky(first, second *run) []name {
	var flaky []name
	for _, n := range first.failedTests() {
		if bad, ran := second.tests[n]; ran && !bad {
			flaky = append(flaky, n)
		}
	}
	return flaky
}
