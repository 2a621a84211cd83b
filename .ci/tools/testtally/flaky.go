package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// firstFailure is a test that failed in a run and passed when it ran once more.
type firstFailure struct {
	name

	printed string // the end of what it printed when it failed
}

// shownOfFailure is how many lines are shown of a first failure: as much as is read.
const shownOfFailure = 40

// failedOnce lists what failed in the run of a file and passed in its second tries.
func failedOnce(file string, text []byte) ([]firstFailure, error) {
	tried, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".again.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first, err := readRun(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	second, err := readRun(bytes.NewReader(tried))
	if err != nil {
		return nil, err
	}
	var once []firstFailure
	for _, n := range flaky(first, second) {
		lines := first.output[n]
		lines = lines[max(0, len(lines)-shownOfFailure):]
		once = append(once, firstFailure{name: n, printed: "    " + strings.TrimRight(strings.Join(lines, "    "), " ")})
	}
	return once, nil
}

func names(failures []firstFailure) []name {
	all := make([]name, 0, len(failures))
	for _, f := range failures {
		all = append(all, f.name)
	}
	return all
}
