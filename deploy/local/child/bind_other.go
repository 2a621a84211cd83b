//go:build !linux

package child

import "os/exec"

// bind does nothing here: a caller that dies without Stop leaves its children behind.
func bind(*exec.Cmd) {}
