// Package crashtest runs a server on a data directory in a process of its own, which
// a test kills: what is there afterwards is what survives a crash. Only tests
// import it.
package crashtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// serveVariable turns the test binary into a server on the data directory that the
// variable names.
const serveVariable = "OUTBOX_RELAY_TEST_SERVE"

// Server listens on addr and returns the address to give to clients.
type Server interface {
	Start(addr string) (hostport string, err error)
}

// ServeIfChild returns at once, but in a process that StartChild started: there it
// serves what open returns until the test goes, and exits. TestMain calls it first.
func ServeIfChild(open func(dir string) (Server, error)) {
	dir := os.Getenv(serveVariable)
	if dir == "" {
		return
	}
	if err := serve(open, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(open func(dir string) (Server, error), dir string) error {
	s, err := open(dir)
	if err != nil {
		return err
	}
	addr, err := s.Start("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(addr)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent goes, or kills
	return nil
}

// Child is a server in a process of its own.
type Child struct {
	Addr string // for its clients

	cmd *exec.Cmd
}

// StartChild starts a server on dir, which the end of the test kills at the latest.
func StartChild(t *testing.T, dir string) *Child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{cmd: cmd}
	t.Cleanup(func() {
		_ = in.Close()
		c.Kill()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("child gave no address: %v", err)
	}
	c.Addr = strings.TrimSpace(line)
	return c
}

// PID is the ID of the process.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Kill ends the process as a crash would.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // it may be over already
	_ = c.cmd.Wait()
}
