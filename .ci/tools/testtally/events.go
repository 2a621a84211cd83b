package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
)

// event is a line of go test -json. See go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output and build-fail
	Test       string // empty: the package
	Output     string
	Elapsed    float64 // seconds
	Key, Value string  // of attr
}

// events reads go test -json to its end. A line that is not JSON, such as an
// error of the go command itself, comes as output of no package.
func events(r io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		in := bufio.NewReader(r)
		for {
			line, err := in.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 && !yield(decode(line), nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(event{}, err)
				return
			}
		}
	}
}

func decode(line []byte) event {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		return event{Action: "output", Output: string(line)}
	}
	return e
}
