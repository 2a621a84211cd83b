package google

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"outboxrelay/deploy/local/freeport"
)

const (
	// startTimeout bounds a start. Two to four seconds are usual; a machine that
	// compiles at the same time has taken twenty.
	startTimeout = 90 * time.Second
	// startAttempts covers a port that another program took between its choice
	// and the emulator's bind.
	startAttempts = 3
)

// Emulator is a running emulator. Its owner calls Stop.
type Emulator struct {
	name    string
	addr    string
	process *process
}

// Addr is HOST:PORT, on the loopback interface.
func (e *Emulator) Addr() string { return e.addr }

// Pid is the emulator's process and, on Linux, its process group.
func (e *Emulator) Pid() int { return e.process.cmd.Process.Pid }

// Exited is closed when the emulator has ended, by Stop or by itself.
func (e *Emulator) Exited() <-chan struct{} { return e.process.exited }

// Err says how the emulator ended, with the end of its output. It is nil while
// the emulator runs.
func (e *Emulator) Err() error {
	select {
	case <-e.process.exited:
		return fmt.Errorf("%s ended: %w: %s", e.name, e.process.cause(), &e.process.output)
	default:
		return nil
	}
}

// Stop ends the emulator and all that it started, and waits until it is gone.
// Stopping one that has ended is a no-op.
func (e *Emulator) Stop() error {
	if err := e.process.stop(); err != nil {
		return fmt.Errorf("stop %s: %w", e.name, err)
	}
	return nil
}

// program is an emulator that can be started.
type program struct {
	name    string
	command func(host, port string) []string
	// probe asks the service at addr something cheap, waiting for the port to open.
	// nil: it answers.
	probe func(ctx context.Context, addr string) error
}

var (
	// errEnded: the emulator went away before it answered.
	errEnded = errors.New("ended before it answered")
	// errElse: something else answers on its port.
	errElse = errors.New("something else has the port")
)

// start runs p on a free port and returns once it answers. ctx bounds the start
// alone: a started emulator lives until Stop.
func start(ctx context.Context, p program, log io.Writer) (*Emulator, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var failures error
	for range startAttempts {
		e, err := attempt(ctx, p, log)
		if err == nil {
			return e, nil
		}
		failures = errors.Join(failures, err)
		if !errors.Is(err, errEnded) && !errors.Is(err, errElse) {
			break
		}
	}
	return nil, fmt.Errorf("start %s: %w", p.name, failures)
}

func attempt(ctx context.Context, p program, log io.Writer) (*Emulator, error) {
	const host = "127.0.0.1"
	port, err := freeport.One()
	if err != nil {
		return nil, err
	}
	child, err := startProcess(p.command(host, port), log)
	if err != nil {
		return nil, err
	}
	e := &Emulator{name: p.name, addr: net.JoinHostPort(host, port), process: child}
	if err := e.await(ctx, p.probe); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", err, &child.output), e.Stop())
	}
	return e, nil
}

// await returns once the emulator answers, has ended, or ctx is over.
func (e *Emulator) await(ctx context.Context, probe func(ctx context.Context, addr string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-e.process.exited:
			cancel(errEnded)
		case <-ctx.Done():
		}
	}()
	err := probe(ctx, e.addr)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	<-watched
	return err
}
