// Command testtally makes the output of go test -json readable, and counts it.
//
//	go test -json ./... | tee run.json | testtally   prints a line for each package, and failures whole
//	testtally -total [-also-failed N] run.json ...   prints the packages' lines again, and
//	                                                 "N passed, N failed, N skipped"
//
// -also-failed adds what failed besides tests, such as a linter.
// A test that several runs hold is counted once: failed before passed before
// skipped. So one that a first run skips for want of a server, and that a second
// run passes, has passed.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
)

func main() {
	total := flag.Bool("total", false, "print the closing lines of the runs in the named files")
	also := flag.Int("also-failed", 0, "with -total: failures to add that are no tests'")
	flag.Parse()
	var err error
	if *total {
		err = closeRuns(flag.Args(), *also, os.Stdout)
	} else {
		err = show(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtally:", err)
		os.Exit(1)
	}
}

// closeRuns prints the closing lines of the runs that files hold. A file that
// is not there is a run that never began.
func closeRuns(files []string, alsoFailed int, out io.Writer) error {
	counts := tally{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = counts.add(bytes.NewReader(text), out)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	_, err := fmt.Fprintln(out, counts.closing(alsoFailed))
	return err
}
