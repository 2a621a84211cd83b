package google

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func TestStartReturnsWhenTheServiceAnswers(t *testing.T) {
	e, err := start(t.Context(), fake(t, "server"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	conn, err := net.Dial("tcp", e.Addr())
	if err != nil {
		t.Fatalf("the started service does not listen: %v", err)
	}
	conn.Close()
	if err := e.Err(); err != nil {
		t.Errorf("Err of a running emulator = %v, want nil", err)
	}

	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	<-e.Exited()
	if e.Err() == nil {
		t.Error("Err of a stopped emulator = nil, want how it ended")
	}
	if conn, err := net.Dial("tcp", e.Addr()); err == nil {
		conn.Close()
		t.Error("the stopped service still listens")
	}
}

func TestStartTriesAnotherPort(t *testing.T) {
	ports := map[string]bool{}
	p := fake(t, "broken")
	command := p.command
	p.command = func(host, port string) []string {
		ports[port] = true
		return command(host, port)
	}
	_, err := start(t.Context(), p, nil)
	if !errors.Is(err, errEnded) {
		t.Fatalf("err = %v, want errEnded", err)
	}
	if got := strings.Count(err.Error(), "no such option"); got != startAttempts {
		t.Errorf("the error quotes the output of %d attempts, want %d: %v", got, startAttempts, err)
	}
	if len(ports) < 2 { // one may be picked twice
		t.Errorf("ports tried = %v, want others after the first", ports)
	}
}

// An emulator of another kind took the port meanwhile, and answers in its place.
func TestStartTriesAnotherPortWhereSomethingElseAnswers(t *testing.T) {
	p := fake(t, "server")
	p.probe = overGRPC(probeFirestore)
	attempts, command := 0, p.command
	p.command = func(host, port string) []string {
		attempts++
		return command(host, port)
	}
	if _, err := start(t.Context(), p, nil); !errors.Is(err, errElse) || attempts != startAttempts {
		t.Errorf("%d attempts, err = %v, want %d and errElse", attempts, err, startAttempts)
	}
}

func TestStartIsBoundedByItsContext(t *testing.T) {
	line := newLifeline(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	impatient := errors.New("impatient")
	p := fake(t, "mute")
	var attempts atomic.Int32
	p.command = func(string, string) []string {
		attempts.Add(1)
		return roleOf(t, "mute", line.Addr().String())
	}
	ended := make(chan error, 1)
	go func() {
		_, err := start(ctx, p, nil)
		ended <- err
	}()
	conn := line.alive(t)
	cancel(impatient)
	if err := <-ended; !errors.Is(err, impatient) {
		t.Errorf("err = %v, want the cause %v", err, impatient)
	}
	dead(t, conn)
	if got := attempts.Load(); got != 1 {
		t.Errorf("attempts = %d, want 1", got)
	}
}

// fake is a program that plays role and is asked for its health.
func fake(t *testing.T, role string) program {
	t.Helper()
	return program{
		name:    "fake",
		command: func(host, port string) []string { return roleOf(t, role, net.JoinHostPort(host, port)) },
		probe: overGRPC(func(ctx context.Context, conn *grpc.ClientConn) error {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
			defer cancel()
			_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			return err
		}),
	}
}
