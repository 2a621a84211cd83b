package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/deploy/local/firestore/journal"
)

const (
	// closeGrace is how long answers under way may take once the server closes.
	closeGrace = time.Second
	// headerTimeout ends a connection that never sends a request.
	headerTimeout = 10 * time.Second
)

// Options configure a Server. The zero value is one in memory.
type Options struct {
	DataDir string // keeps the accounts, nothing else may be in it; "": in memory

	Log *zap.Logger // nil: silent
	// Now dates accounts and tokens. nil: time.Now.
	Now func() time.Time
}

// Server is an embedded Auth. It takes clients after Start.
type Server struct {
	log     *zap.Logger
	now     func() time.Time
	faults  *Faults
	counts  *counters
	handler http.Handler

	mu       sync.Mutex // guards the projects, and orders appends to the journal
	projects map[string]*project
	journal  *journal.Journal // nil: in memory

	serving context.Context // ends with Close
	stop    context.CancelFunc
	http    *http.Server
	served  sync.WaitGroup

	closing  sync.Once
	closeErr error
}

// Open makes a server, without any socket, and loads its data directory. The caller
// owns it and calls Close.
func Open(opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Server{
		log:      opts.Log,
		now:      opts.Now,
		faults:   &Faults{},
		counts:   newCounters(),
		projects: map[string]*project{},
	}
	if opts.DataDir != "" {
		if err := s.open(opts.DataDir); err != nil {
			return nil, err
		}
	}
	s.serving, s.stop = context.WithCancel(context.Background())
	s.handler = s.routes()
	s.http = &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return s.serving },
		ErrorLog:          zap.NewStdLog(s.log),
	}
	return s, nil
}

// Start listens on addr ("127.0.0.1:0": any free port) and returns the address to
// give to clients. It serves until Close and may be called once.
func (s *Server) Start(addr string) (hostport string, err error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen for Auth clients: %w", err)
	}
	s.served.Go(func() {
		if err := s.http.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serve Auth clients", zap.Error(err))
		}
	})
	return lis.Addr().String(), nil
}

// Close ends all calls and, with a data directory, leaves it complete.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.stop()
		ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		if err := s.http.Shutdown(ctx); err != nil {
			_ = s.http.Close() // a connection that is still open is cut
		}
		s.served.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.journal != nil {
			s.closeErr = s.journal.Close()
		}
	})
	return s.closeErr
}

// Faults is the server's fault switch.
func (s *Server) Faults() *Faults { return s.faults }
