package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/deploy/local/poll"
	"outboxrelay/deploy/local/thorough"
)

// asProgram makes the test binary run the program in place of the tests, so
// that a test can signal and kill a real process.
const asProgram = "OUTBOX_RELAY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	thorough.Beside(2) // they wait for processes and for what is sent over gRPC
	goleak.VerifyTestMain(m,
		// The client libraries' metrics start a worker for the life of the process.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		// Where they look for credentials they dial a metadata server, and keep the
		// connection for a minute where one answers after they stopped waiting.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	)
}

// patience of a test with a real process or socket.
const testPatience = 3 * time.Minute

// result is how a run of the program ended.
type result struct {
	code           int
	stdout, stderr string
}

// runProgram runs the program within the test, to its end.
func runProgram(t *testing.T, env map[string]string, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, shell.LookupIn(env), strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// output collects what a running program writes, and lets a test wait for it.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed and replaced on each write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// find waits for a match and returns its first group.
func (o *output) find(t *testing.T, pattern string) string {
	t.Helper()
	re, deadline := regexp.MustCompile(pattern), time.After(testPatience)
	for {
		o.mu.Lock()
		text, more := o.text.String(), o.more
		o.mu.Unlock()
		if m := re.FindStringSubmatch(text); m != nil {
			return m[1]
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%q is not in the output:\n%s", pattern, text)
		}
	}
}

// background runs the program within the test until stop.
type background struct {
	stdout, stderr *output
	cancel         context.CancelFunc
	code           chan int
}

func startProgram(t *testing.T, env map[string]string, args ...string) *background {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b := &background{stdout: newOutput(), stderr: newOutput(), cancel: cancel, code: make(chan int, 1)}
	go func() { b.code <- run(ctx, args, shell.LookupIn(env), strings.NewReader(""), b.stdout, b.stderr) }()
	t.Cleanup(func() { b.stop(t) })
	return b
}

// stop ends the program as a signal would and returns its exit code. It may be
// called again.
func (b *background) stop(t *testing.T) int {
	t.Helper()
	b.cancel()
	select {
	case code := <-b.code:
		b.code <- code
		return code
	case <-time.After(testPatience):
		t.Fatalf("the program does not end; it wrote:\n%s%s", b.stdout, b.stderr)
		return -1
	}
}

// child is the program as a process of its own.
type child struct {
	cmd            *exec.Cmd
	stdout, stderr *output
	ended          chan struct{} // closed when it has been waited for
}

func startChild(t *testing.T, env map[string]string, args ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(exe, args...), stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	c.cmd.Env = []string{asProgram + "=1"}
	for name, value := range env {
		c.cmd.Env = append(c.cmd.Env, name+"="+value)
	}
	c.cmd.Stdout, c.cmd.Stderr = c.stdout, c.stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // the exit code is in ProcessState
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		<-c.ended
	})
	return c
}

func (c *child) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// suspend stops the process until SIGCONT, and returns once none of its threads
// runs: SIGSTOP goes to one of them, and until that one gets a core, the others
// go on.
func (c *child) suspend(t *testing.T) {
	t.Helper()
	c.signal(t, syscall.SIGSTOP)
	var is syscall.WaitStatus
	_, err := syscall.Wait4(c.cmd.Process.Pid, &is, syscall.WUNTRACED, nil)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(c.cmd.Process.Pid, &is, syscall.WUNTRACED, nil)
	}
	if err != nil || !is.Stopped() {
		t.Fatalf("the process does not stop: status %#x, %v", is, err)
	}
}

// wait returns the exit code; -1 if it was killed.
func (c *child) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-c.ended:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(testPatience):
		t.Fatalf("the process does not end; it wrote:\n%s%s", c.stdout, c.stderr)
		return -1
	}
}

// beside runs f until stop, and fails the test with its error. stop may be called
// again.
func beside(t *testing.T, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil {
			t.Error(err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// eventually polls until ok, for what happens in another process.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	patiently(t, what, testPatience, 5*time.Millisecond, ok)
}

// patiently is eventually for what takes long, or is dear to look at.
func patiently(t *testing.T, what string, patience, every time.Duration, ok func() bool) {
	t.Helper()
	if !poll.True(patience, every, ok) {
		t.Fatalf("gave up waiting until %s", what)
	}
}

var _ io.Writer = (*output)(nil)
