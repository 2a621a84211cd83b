package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// childGrace is how long a child may take to end by itself: the relay's own
// stop budget and a little.
const childGrace = 12 * time.Second

// child is a process of the bench's. Its owner calls stop.
type child struct {
	name   string
	cmd    *exec.Cmd
	output *tail
	exited chan struct{} // closed when it has been waited for
	err    error         // of Wait; valid after exited
}

// startChild runs path with env in addition to the bench's own environment.
// What it prints is kept for an error, and stdout goes to out as well; nil drops
// it. One goroutine lives until the child has ended.
func startChild(name, path string, args, env []string, out io.Writer) (*child, error) {
	c := &child{name: name, cmd: exec.Command(path, args...), output: &tail{}, exited: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	if out != nil {
		c.cmd.Stdout = io.MultiWriter(c.output, out)
	}
	c.cmd.WaitDelay = time.Second
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(c.exited)
		c.err = c.cmd.Wait()
	}()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// ended is why the child ended by itself, and nil while it runs.
func (c *child) ended() error {
	select {
	case <-c.exited:
		return fmt.Errorf("%s ended: %w: %s", c.name, cause(c.err), c.output)
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

// stop asks the child to end, kills it after childGrace, and waits. A child that
// ended before, or badly, is an error.
func (c *child) stop() error {
	if err := c.ended(); err != nil {
		return err
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", c.name, err)
	}
	grace := time.NewTimer(childGrace)
	defer grace.Stop()
	select {
	case <-c.exited:
	case <-grace.C:
		_ = c.cmd.Process.Kill() // fails only when it has just ended
		<-c.exited
	}
	if c.err != nil {
		return fmt.Errorf("stop %s: %w: %s", c.name, c.err, c.output)
	}
	return nil
}

// tailBytes of a child's output are quoted when it fails: the last screenful.
const tailBytes = 4 << 10

// tail keeps the end of what is written to it. Safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if over := len(t.last) - tailBytes; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
