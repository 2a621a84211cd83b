package tcpproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startEcho answers every byte with itself and returns its address.
func startEcho(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = lis.Close()
		serving.Wait()
	})
	return lis.Addr().String()
}

// behindProxy is an echo behind a proxy.
func behindProxy(t *testing.T) *Proxy {
	t.Helper()
	p, err := Start("echo", "127.0.0.1:0", startEcho(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ask sends a byte and waits for it to come back.
func ask(conn net.Conn, within time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

const (
	soon   = 2 * time.Minute
	inVain = 200 * time.Millisecond
)

func TestProxyPasses(t *testing.T) {
	if err := ask(dial(t, behindProxy(t)), soon); err != nil {
		t.Error(err)
	}
}

func TestCutEndsConnectionsAndTakesNewOnes(t *testing.T) {
	p := behindProxy(t)
	conn := dial(t, p)
	if err := ask(conn, soon); err != nil {
		t.Fatal(err)
	}
	if err := p.Cut(); err != nil {
		t.Fatal(err)
	}
	if err := ask(conn, soon); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error of the old connection is %v, want its end", err)
	}
	if err := ask(dial(t, p), soon); err != nil {
		t.Errorf("new connection: %v", err)
	}
}

func TestDownRefusesUntilUp(t *testing.T) {
	p := behindProxy(t)
	p.Down()
	if conn, err := net.Dial("tcp", p.Addr); err == nil {
		_ = conn.Close()
		t.Error("a proxy that is down took a connection")
	}
	if err := p.Cut(); err != nil { // must not bring it up
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", p.Addr); err == nil {
		_ = conn.Close()
		t.Error("a proxy that is down took a connection after a cut")
	}
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	if err := ask(dial(t, p), soon); err != nil {
		t.Error(err)
	}
}

// While a proxy is down its port is not free, so that the kernel gives it to
// nobody who asks for any.
func TestDownKeepsItsPort(t *testing.T) {
	p := behindProxy(t)
	p.Down()
	to, err := net.ResolveTCPAddr("tcp4", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(socket) }()
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("another who asks for its port gets %v, want that it is in use", err)
	}
}

func TestClosedProxyStaysClosed(t *testing.T) {
	p := behindProxy(t)
	p.Down()
	p.Close()
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", p.Addr); err == nil {
		_ = conn.Close()
		t.Error("a closed proxy took a connection")
	}
}

func TestSwallowedBytesAreNoError(t *testing.T) {
	for _, stream := range []string{"upstream", "downstream"} {
		t.Run(stream, func(t *testing.T) {
			p := behindProxy(t)
			conn := dial(t, p)
			if err := ask(conn, soon); err != nil {
				t.Fatal(err)
			}
			if err := p.Poison(Swallow(stream)); err != nil {
				t.Fatal(err)
			}
			if err := ask(conn, inVain); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("error is %v, want silence", err)
			}
			p.Cure(t.Context())
			if err := ask(dial(t, p), soon); err != nil {
				t.Errorf("after the cure: %v", err)
			}
		})
	}
}
