package google

import (
	"errors"
	"io"
	"os/exec"
	"sync"
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
	output *tail
	grace  time.Duration // between asking it to end and killing it
	exited chan struct{} // closed when the child has been reaped and its group killed
	err    error         // of Wait; valid after exited
}

// startProcess runs argv, copying what it prints to log; nil drops it. One
// goroutine lives until the child has ended.
func startProcess(argv []string, log io.Writer) (*process, error) {
	p := &process{
		cmd:    exec.Command(argv[0], argv[1:]...),
		output: &tail{next: log},
		grace:  stopGrace,
		exited: make(chan struct{}),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
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

// tailBytes is how much output a failure quotes: the last screenful.
const tailBytes = 2 << 10

// tail passes output on and keeps the end of it. Safe for concurrent use.
type tail struct {
	next io.Writer // nil: drop

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
	if t.next == nil {
		return len(b), nil
	}
	return t.next.Write(b)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
