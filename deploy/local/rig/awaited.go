// Package rig starts what a bench or a crash test runs on: a cloud, and the programs that use it.
package rig

import "strings"

// Awaited tells when a text has been written to it, on one line. One goroutine writes.
type Awaited struct {
	text string
	seen chan struct{}
	line string // what has been written of a line
	done bool
}

// NewAwaited waits for a text.
func NewAwaited(text string) *Awaited { return &Awaited{text: text, seen: make(chan struct{})} }

// Seen is closed once the text was written.
func (a *Awaited) Seen() <-chan struct{} { return a.seen }

func (a *Awaited) Write(b []byte) (int, error) {
	if a.done {
		return len(b), nil
	}
	a.line += string(b)
	if strings.Contains(a.line, a.text) {
		a.done = true
		close(a.seen)
	}
	a.line = a.line[strings.LastIndexByte(a.line, '\n')+1:]
	return len(b), nil
}
