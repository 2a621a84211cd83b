//go:build !linux

package google

import (
	"errors"
	"os"
	"os/exec"
)

// isolate does nothing here: the emulators fork no children, and a caller that
// dies without Stop leaves them behind.
func isolate(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func kill(p *os.Process) error { return p.Kill() }

// gone tells that there was nothing left to signal.
func gone(err error) bool { return errors.Is(err, os.ErrProcessDone) }
