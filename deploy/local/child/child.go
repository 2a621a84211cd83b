// Package child starts programs that end with this process at the latest, waits until they
// answer, and ends them as a platform does or as a crash does.
package child

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// grace is how long a child may take to end by itself: the relay's own
// stop budget and a little.
const grace = 12 * time.Second

// Spec is what to run.
type Spec struct {
	Name string // for errors
	Path string
	Args []string
	Env  []string // NAME=value each, in addition to this process's own
	Dir  string   // to run in; "": this process's own
	// As says as whom it runs; nil: as this process. See Unprivileged.
	As *syscall.SysProcAttr
	// StopWith is the signal that asks it to end; 0: SIGTERM.
	StopWith syscall.Signal
	// Stdout and Stderr get what it prints, from one goroutine each; nil drops
	// it. The end of it is kept for errors in any case.
	Stdout, Stderr io.Writer
}

// Process is a running program. Its owner calls Stop or Kill.
type Process struct {
	name   string
	cmd    *exec.Cmd
	stop   syscall.Signal
	output Tail
	exited chan struct{} // closed when it has been waited for
	err    error         // of Wait; valid after exited
}

// Start runs a program. One goroutine lives until it has ended.
func Start(s Spec) (*Process, error) {
	c := &Process{name: s.Name, cmd: exec.Command(s.Path, s.Args...), exited: make(chan struct{})}
	c.stop = cmp.Or(s.StopWith, syscall.SIGTERM)
	c.cmd.Env, c.cmd.Dir = append(os.Environ(), s.Env...), s.Dir
	if s.As != nil {
		as := *s.As
		c.cmd.SysProcAttr = &as
	}
	c.cmd.Stdout, c.cmd.Stderr = c.output.And(s.Stdout), c.output.And(s.Stderr)
	c.cmd.WaitDelay = time.Second
	err := Bind(c.cmd, func(err error) {
		c.err = err
		close(c.exited)
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	return c, nil
}

// PID is the child's process ID.
func (c *Process) PID() int { return c.cmd.Process.Pid }

// Output is the end of what it printed.
func (c *Process) Output() string { return c.output.String() }

// Exited is closed once the child has ended.
func (c *Process) Exited() <-chan struct{} { return c.exited }

// Ended is why the child ended by itself, and nil while it runs.
func (c *Process) Ended() error {
	select {
	case <-c.exited:
		return fmt.Errorf("%s ended: %w: %s", c.name, cause(c.err), &c.output)
	default:
		return nil
	}
}

func cause(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// Signal sends a signal and does not wait for what comes of it.
func (c *Process) Signal(s syscall.Signal) error {
	if err := c.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("send %v to %s: %w", s, c.name, err)
	}
	return nil
}

// Kill ends the child as a crash does, and waits. One that has ended already is
// no error.
func (c *Process) Kill() {
	_ = c.cmd.Process.Kill() // fails only when it has just ended
	<-c.exited
}

// Stop asks the child to end, kills it after grace, and waits. A child that
// ended before, or badly, is an error.
func (c *Process) Stop() error {
	if err := c.Ended(); err != nil {
		return err
	}
	if err := c.cmd.Process.Signal(c.stop); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", c.name, err)
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-c.exited:
	case <-late.C:
		c.Kill()
	}
	if c.err != nil {
		return fmt.Errorf("stop %s: %w: %s", c.name, c.err, &c.output)
	}
	return nil
}
