package main

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the command in a process group, which the end of its context
// terminates as a whole. SIGINT would not do: what a shell started in the
// background ignores it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killRest ends what the command left running in its group. There is usually nothing.
func killRest(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ESRCH: nothing left
	}
}
