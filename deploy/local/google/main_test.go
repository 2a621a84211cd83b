package google

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// roleVar makes the test binary play a child instead of running tests. A child
// inherits it, so a role that starts another names that one as an argument.
const roleVar = "OUTBOX_RELAY_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		os.Exit(play(os.Args[1], os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// play acts as a child. addr is HOST:PORT: of the test for those that report to
// it, of the service for the server.
func play(role, addr string) int {
	switch role {
	case "broken":
		fmt.Println("no such option")
		return 3
	case "server": // answers gRPC health checks
		lis, err := net.Listen("tcp", addr)
		if err != nil {
			return 1
		}
		server := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(server, health.NewServer())
		_ = server.Serve(lis)
		return 0
	case "deaf": // reports, ignores SIGTERM and holds the connection until it dies
		signal.Ignore(syscall.SIGTERM)
		report(addr)
		select {}
	case "mute": // reports, and never answers
		report(addr)
		select {}
	case "forker": // has a deaf child of its own
		child := exec.Command(os.Args[0], "deaf", addr)
		if child.Start() != nil {
			return 1
		}
		_ = child.Wait()
		return 0
	case "parent": // starts a deaf process as emulators are started
		if _, err := startProcess([]string{os.Args[0], "deaf", addr}, nil); err != nil {
			return 1
		}
		select {}
	default:
		fmt.Println("no role", role)
		return 1
	}
}

// report connects to the test. The connection stays open as long as this process lives.
func report(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		os.Exit(1) // the test is gone
	}()
}

// roleOf is a command line that plays role.
func roleOf(t *testing.T, role, addr string) []string {
	t.Helper()
	t.Setenv(roleVar, role)
	return []string{os.Args[0], role, addr}
}

// lifeline waits for processes that report, and tells when they are dead.
type lifeline struct {
	net.Listener
}

func newLifeline(t *testing.T) lifeline {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return lifeline{lis}
}

// alive returns once a process has reported. The connection ends with it.
func (l lifeline) alive(t *testing.T) net.Conn {
	t.Helper()
	l.Listener.(*net.TCPListener).SetDeadline(time.Now().Add(2 * time.Minute))
	conn, err := l.Accept()
	if err != nil {
		t.Fatalf("no process reported: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// dead returns once the process at the other end is gone.
func dead(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Fatalf("the process lives on: read: %v", err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
