package google

import (
	"errors"
	"io"
	"os/exec"
	"time"

	"outboxrelay/deploy/local/child"
)

const (
	// stopGrace is how long a process may take to end of its own accord. The JVMs
	// need well below a second.
	stopGrace = 5 * time.Second
	// drainGrace is how long output is awaited that a grandchild holds open.
	drainGrace = time.Second
)

// process is a child in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	output child.Tail
	grace  time.Duration // between asking it to end and killing it
	exited chan struct{} // closed when the child has been reaped and its group killed
	err    error         // of Wait; valid after exited
}

// startProcess runs argv, copying what it prints to log; nil drops it. One
// goroutine lives until the child has ended.
func startProcess(argv []string, log io.Writer) (*process, error) {
	p := &process{
		cmd:    exec.Command(argv[0], argv[1:]...),
		grace:  stopGrace,
		exited: make(chan struct{}),
	}
	p.cmd.Stdout = p.output.And(log)
	p.cmd.Stderr = p.cmd.Stdout // one for both, so that one goroutine writes to it
	p.cmd.WaitDelay = drainGrace
	isolate(p.cmd)
	err := child.Bind(p.cmd, func(err error) {
		p.err = err
		_ = kill(p.cmd.Process) // what it left in its group; usually nothing, which is no fault
		close(p.exited)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// stop ends the whole group, by force after the grace, and waits for that. A
// process that has ended already is no error.
func (p *process) stop() error {
	select {
	case <-p.exited:
		return nil
	default:
	}
	if err := terminate(p.cmd.Process); err != nil && !gone(err) {
		return err
	}
	grace := time.NewTimer(p.grace)
	defer grace.Stop()
	select {
	case <-p.exited:
		return nil
	case <-grace.C:
	}
	if err := kill(p.cmd.Process); err != nil && !gone(err) {
		return err
	}
	<-p.exited
	return nil
}

// cause tells how the child ended. Only after exited.
func (p *process) cause() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}
