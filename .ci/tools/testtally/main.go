// Command testtally makes the output of go test -json readable, and counts it.
//
//	go test -json ./... | tee run.json | testtally   prints a line for each package, and failures whole
//	testtally -again google|browser run.json         prints the package and the name of each test that failed
//	                                                 there and may run once more; fails when something else failed
//	testtally -total [-also-failed N] run.json ...   prints the packages' lines again, and
//	                                                 "N passed, N failed, N skipped"
//
// -also-failed adds what failed besides tests, such as a linter. What the second
// tries of run.json printed is looked for in run.again.json: a test that passed
// there has passed, and is printed as flaky with its first failure. A test that
// every run left out because it takes long, which it says by the attribute "needs"
// of its log, has failed, unless a run is missing.
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
	"maps"
	"os"
)

func main() {
	total := flag.Bool("total", false, "print the closing lines of the runs in the named files")
	also := flag.Int("also-failed", 0, "with -total: failures to add that are no tests'")
	where := flag.String("again", "", "print what may run once more: of a run on Google's emulators all (google), of another what needs a browser (browser)")
	flag.Parse()
	var err error
	switch {
	case *total:
		err = closeRuns(flag.Args(), *also, os.Stdout)
	case *where != "":
		err = listAgain(flag.Arg(0), *where, os.Stdout)
	default:
		err = show(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtally:", err)
		os.Exit(1)
	}
}

// listAgain prints the tests of the run in the named file that may run once more.
func listAgain(file, where string, out io.Writer) error {
	if where != onGoogle && where != inBrowser {
		return fmt.Errorf("-again is %q, want %s or %s", where, onGoogle, inBrowser)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	tries, err := again(bytes.NewReader(text), where)
	if err != nil {
		return fmt.Errorf("no second try: %w", err)
	}
	for _, n := range tries {
		fmt.Fprintln(out, n.pkg, n.test)
	}
	return nil
}

// closeRuns prints the closing lines of the runs that files hold. A file that
// is not there is a run that never began.
func closeRuns(files []string, alsoFailed int, out io.Writer) error {
	counts, long, complete := tally{}, map[name]bool{}, true
	var excused []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			complete = false
			continue
		}
		var once []firstFailure
		if err == nil {
			once, err = failedOnce(name, text)
		}
		var read *run
		if err == nil {
			read, err = readRun(bytes.NewReader(text))
		}
		if err == nil {
			err = counts.add(bytes.NewReader(text), names(once), out)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		maps.Copy(long, read.long)
		for _, f := range once {
			excused = append(excused, fmt.Sprintf("flaky: %s of %s; it passed alone. Its first failure:\n%s", f.test, f.pkg, f.printed))
		}
	}
	for _, text := range excused {
		fmt.Fprint(out, text)
	}
	var left []name
	if complete {
		left = counts.leftOut(long)
	}
	for _, n := range left {
		fmt.Fprintf(out, "left out of every run, as it takes long: %s of %s\n", n.test, n.pkg)
	}
	if _, err := fmt.Fprintln(out, counts.closing(alsoFailed+len(left))); err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%d tests are left out of every run", len(left))
	}
	return nil
}
