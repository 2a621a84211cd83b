package thorough

import (
	"flag"
	"runtime"
	"strconv"
)

// Beside has n tests of a package run at once for each processor, unless -parallel says
// so. A package whose tests mostly wait calls it in TestMain, before the command line is
// read.
func Beside(n int) {
	if err := flag.Set("test.parallel", strconv.Itoa(n*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // there are no tests
	}
}
