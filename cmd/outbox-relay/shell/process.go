// Package shell is what the commands have of the process that they run in: its
// environment and streams, its exit codes, somebody to ask, and the forms in which
// they print: tables, JSON, words.
package shell

import (
	"io"
	"strings"
)

// Process is what a command has of the process that it runs in.
type Process struct {
	Env            Lookup
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Lookup finds an environment variable.
type Lookup func(name string) (string, bool)

// Snapshot makes a lookup of "NAME=value" pairs.
func Snapshot(environ []string) Lookup {
	vars := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return LookupIn(vars)
}

// LookupIn looks variables up in vars.
func LookupIn(vars map[string]string) Lookup {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// Get returns a variable's value, or "" when it is not set.
func (l Lookup) Get(name string) string {
	value, _ := l(name)
	return value
}
