package firestore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	deployed "outboxrelay/deploy/firestore"
	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/local/firestore/journal"
)

// DefaultHeartbeat is how often production reassures an idle listener.
const DefaultHeartbeat = 30 * time.Second

// Options say how a server works. The zero value is a server in memory.
type Options struct {
	// DataDir keeps the documents; empty keeps them in memory alone. One process
	// at a time may have a directory open.
	DataDir string
	// Heartbeat is the interval at which an idle Listen stream is told that it is
	// up to date. Zero means DefaultHeartbeat, negative never.
	Heartbeat time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets what an operator should know, never a document's content. May be nil.
	Log *zap.Logger
	// Indexes are those that queries have, beside the automatic ones of fields
	// without an override. Nil means those of the built-in catalog, as deployed.
	Indexes *indexes.File
	// AnyQuery serves queries that have no index, as Google's emulator does and
	// production never: for tests of queries themselves.
	AnyQuery bool
}

// Server is an embedded Firestore. It holds any number of databases of any number
// of projects, each made when it is first named.
type Server struct {
	pb.UnimplementedFirestoreServer

	log       *zap.Logger
	now       func() time.Time
	heartbeat time.Duration
	anyQuery  bool
	indexes   atomic.Pointer[indexes.File]
	instance  [8]byte

	clock        clock
	billing      meter
	transactions transactions
	faults       *Faults
	journal      *journal.Journal // nil in memory

	// mu guards the databases and all that hangs off them. It is held for what a
	// request needs of them and never while anything is sent.
	mu           sync.RWMutex
	dbs          map[string]*database
	compacting   bool
	snapshotSize int64

	background sync.WaitGroup
	closing    chan struct{}
	closeOnce  sync.Once
	closeErr   error

	serving sync.Mutex
	servers []*grpc.Server
}

// Open makes a server, without any socket, and loads its data directory.
func Open(o Options) (*Server, error) {
	s := &Server{
		log:          o.Log,
		now:          o.Now,
		heartbeat:    o.Heartbeat,
		anyQuery:     o.AnyQuery,
		transactions: transactions{open: map[string]*transaction{}},
		faults:       newFaults(),
		dbs:          map[string]*database{},
		closing:      make(chan struct{}),
	}
	declared := deployed.Indexes()
	if o.Indexes != nil {
		declared = *o.Indexes
		if err := declared.Check(); err != nil {
			return nil, err
		}
	}
	s.indexes.Store(&declared)
	if s.log == nil {
		s.log = zap.NewNop()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.heartbeat == 0 {
		s.heartbeat = DefaultHeartbeat
	}
	s.clock.now = s.now
	_, _ = rand.Read(s.instance[:]) // never fails
	if o.DataDir != "" {
		if err := s.open(o.DataDir); err != nil {
			return nil, err
		}
	}
	s.background.Go(s.tidy)
	return s, nil
}

// Start listens on addr ("127.0.0.1:0" for any free port), serves in the
// background until Close, and returns the address to give to clients.
func (s *Server) Start(addr string) (hostport string, err error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen for Firestore clients: %w", err)
	}
	s.background.Go(func() {
		if err := s.Serve(lis); err != nil {
			s.log.Error("serve Firestore clients", zap.Error(err))
		}
	})
	return lis.Addr().String(), nil
}

// Serve answers clients on lis until Close, and then returns nil.
func (s *Server) Serve(lis net.Listener) error {
	g := grpc.NewServer(
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(64<<20), // so that checkRequest can say what is wrong
		grpc.MaxConcurrentStreams(10_000),
		grpc.ChainUnaryInterceptor(s.faults.unary),
		grpc.ChainStreamInterceptor(s.faults.stream),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	pb.RegisterFirestoreServer(g, s)
	s.serving.Lock()
	select {
	case <-s.closing:
		s.serving.Unlock()
		return lis.Close()
	default:
	}
	s.servers = append(s.servers, g)
	s.serving.Unlock()
	if err := g.Serve(s.faults.track(lis)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC: %w", err)
	}
	return nil
}

// Close ends all streams, and the server. Data in memory are gone.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.serving.Lock()
		close(s.closing)
		servers := s.servers
		s.serving.Unlock()
		for _, g := range servers {
			g.Stop()
		}
		s.background.Wait()
		if s.journal != nil {
			s.closeErr = s.journal.Close()
		}
	})
	return s.closeErr
}

// Faults is the switch that makes calls fail.
func (s *Server) Faults() *Faults { return s.faults }

// AdminHandler serves faults and billing over HTTP; see adminHandler.
func (s *Server) AdminHandler() http.Handler { return s.adminHandler() }

// database returns a database by its name, made on first use.
func (s *Server) database(name string) *database {
	s.mu.RLock()
	db := s.dbs[name]
	s.mu.RUnlock()
	if db != nil {
		return db
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dbs[name] == nil {
		s.dbs[name] = newDatabase(name, s.clock.read())
	}
	return s.dbs[name]
}

// Reset deletes all documents, as commits that listeners see, and ends all
// transactions. Faults and the count for billing stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, db := range s.dbs {
		var changes []change
		db.docs.Scan(func(r *record) bool {
			changes = append(changes, change{old: r})
			return true
		})
		if len(changes) == 0 {
			continue
		}
		at := s.clock.commit()
		if _, err := s.persist(db, at, changes); err != nil {
			s.log.Error("persist reset", zap.Error(err))
		}
		db.apply(at, changes)
		db.history.forget(at)
	}
	s.transactions.clear()
}

// tidy lets go, now and then, of what is not used any more.
func (s *Server) tidy() {
	ticker := time.NewTicker(viewIdle / 4)
	defer ticker.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-ticker.C:
			now := s.now()
			s.mu.Lock()
			for _, db := range s.dbs {
				db.dropViews(now)
			}
			s.mu.Unlock()
			s.transactions.tidy(now)
		}
	}
}

// errInternal logs what went wrong in the server and tells the client no more than
// that it did.
func errInternal(log *zap.Logger, doing string, err error) error {
	log.Error(doing, zap.Error(err))
	return status.Error(codes.Internal, "Internal error encountered.")
}
