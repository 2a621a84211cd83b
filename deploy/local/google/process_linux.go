package google

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// isolate gives the child a group of its own, which a terminal's Ctrl-C does not
// reach.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func terminate(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGTERM) }

func kill(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// gone tells that there was nothing left to signal.
func gone(err error) bool { return errors.Is(err, syscall.ESRCH) }
