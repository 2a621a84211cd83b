package firestore

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// How long a transaction lives, in all and without being used.
const (
	transactionLife = 270 * time.Second
	transactionIdle = 60 * time.Second
)

// transactionID is the length of an ID.
const transactionID = 16

// transaction reads from the snapshot of its first read. When it commits, what it
// read must not have changed since; its commit is aborted otherwise, and the client
// tries again. Nothing waits for a transaction.
type transaction struct {
	db       *database
	readOnly bool
	began    time.Time

	mu      sync.Mutex
	used    time.Time
	docs    *recordTree // nil before the first read
	at      micros
	reads   map[string]*record
	queries []*query // narrowed to what their results depend on
}

var errTransaction = status.Error(codes.InvalidArgument, "Transaction is invalid or closed.")

// transactions are those that are open.
type transactions struct {
	mu   sync.Mutex
	open map[string]*transaction
}

func (ts *transactions) begin(db *database, o *pb.TransactionOptions, now time.Time) ([]byte, error) {
	if o.GetReadOnly().GetReadTime() != nil {
		return nil, unimplemented("TransactionOptions.ReadOnly.read_time")
	}
	id := make([]byte, transactionID)
	_, _ = rand.Read(id) // never fails
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.expire(now)
	ts.open[string(id)] = &transaction{db: db, readOnly: o.GetReadOnly() != nil, began: now, used: now}
	return id, nil
}

func (ts *transactions) expire(now time.Time) {
	for id, tx := range ts.open {
		if tx.expired(now) {
			delete(ts.open, id)
		}
	}
}

func (tx *transaction) expired(now time.Time) bool {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	return now.Sub(tx.began) > transactionLife || now.Sub(tx.used) > transactionIdle
}

func (ts *transactions) tidy(now time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.expire(now)
}

func (ts *transactions) clear() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	clear(ts.open)
}

// get finds an open transaction; take ends it too.
func (ts *transactions) get(id []byte, db *database, now time.Time) (*transaction, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	tx := ts.open[string(id)]
	if tx == nil || tx.db != db || tx.expired(now) {
		return nil, errTransaction
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.used = now
	return tx, nil
}

func (ts *transactions) take(id []byte, db *database, now time.Time) (*transaction, error) {
	tx, err := ts.get(id, db, now)
	if err != nil {
		return nil, err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.open, string(id))
	return tx, nil
}

// giveBack opens again what was taken for a commit that may be tried again.
func (ts *transactions) giveBack(id []byte, tx *transaction) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.open[string(id)] = tx
}

// sawRecord notes a document's version, nil for none, that a read depended on.
func (tx *transaction) sawRecord(path string, r *record) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.reads == nil {
		tx.reads = map[string]*record{}
	}
	tx.reads[path] = r
}

func (tx *transaction) sawQuery(q *query) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.queries = append(tx.queries, q)
}

// valid reports whether everything that was read still stands. The caller holds
// the server's lock.
func (tx *transaction) valid() bool {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.docs == nil {
		return true
	}
	for path, r := range tx.reads {
		if tx.db.get(path) != r {
			return false
		}
	}
	if len(tx.queries) == 0 {
		return true
	}
	changes, ok := tx.db.history.since(tx.at)
	if !ok {
		return false
	}
	for _, c := range changes {
		for _, q := range tx.queries {
			_, had := q.place(&tx.db.before, c.old)
			_, has := q.place(&tx.db.before, c.new)
			if had || has {
				return false
			}
		}
	}
	return true
}

// BeginTransaction opens a transaction.
func (s *Server) BeginTransaction(_ context.Context, req *pb.BeginTransactionRequest) (*pb.BeginTransactionResponse, error) {
	if err := checkDatabase(req.GetDatabase()); err != nil {
		return nil, err
	}
	id, err := s.transactions.begin(s.database(req.GetDatabase()), req.GetOptions(), s.now())
	if err != nil {
		return nil, err
	}
	return &pb.BeginTransactionResponse{Transaction: id}, nil
}

// Rollback ends a transaction without effect. One that has ended is none the worse.
func (s *Server) Rollback(_ context.Context, req *pb.RollbackRequest) (*emptypb.Empty, error) {
	if err := checkDatabase(req.GetDatabase()); err != nil {
		return nil, err
	}
	if len(req.GetTransaction()) != transactionID {
		return nil, errTransaction
	}
	_, _ = s.transactions.take(req.GetTransaction(), s.database(req.GetDatabase()), s.now())
	return &emptypb.Empty{}, nil
}

// reading is where a request reads from: the live documents or a transaction's.
type reading struct {
	db    *database
	tx    *transaction // nil outside one
	began []byte       // ID of a transaction that the request began
}

// reading settles a request's consistency selector.
func (s *Server) reading(name string, txID []byte, begin *pb.TransactionOptions, readTime *timestamppb.Timestamp) (rd reading, err error) {
	if err := checkDatabase(name); err != nil {
		return rd, err
	}
	if readTime != nil {
		return rd, unimplemented("read_time")
	}
	rd.db = s.database(name)
	if begin != nil {
		if rd.began, err = s.transactions.begin(rd.db, begin, s.now()); err != nil {
			return rd, err
		}
		txID = rd.began
	}
	if len(txID) == 0 {
		return rd, nil
	}
	if rd.tx, err = s.transactions.get(txID, rd.db, s.now()); err != nil {
		return rd, err
	}
	s.pin(rd.tx)
	return rd, nil
}

// pin takes a transaction's snapshot, at its first read.
func (s *Server) pin(tx *transaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.docs == nil {
		tx.docs, tx.at = tx.db.docs.Copy(), s.clock.read()
	}
}
