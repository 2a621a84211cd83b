package firestore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/firestore/journal"
)

// A log is compacted once it is this large and larger than the data themselves.
const compactAt = 64 << 20

// A frame is a time, a database's name and changes: for each a path, the creation
// and update times and the fields, or a creation time of zero for a delete.

func appendFrameHead(b []byte, database string, at micros) []byte {
	b = binary.AppendUvarint(b, uint64(at))
	return appendBlob(b, database)
}

func appendRecordFrame(b []byte, r *record) []byte {
	b = appendBlob(b, r.path)
	b = binary.AppendUvarint(b, uint64(r.created))
	b = binary.AppendUvarint(b, uint64(r.updated))
	return appendBlob(b, bytesString(r.fields))
}

func appendBlob(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// persist appends a commit to the journal, before it is applied and under the
// server's lock, and returns the wait for its durability. Later commits' waits are
// for the earlier ones too.
func (s *Server) persist(db *database, at micros, changes []change) (func() error, error) {
	if s.journal == nil {
		return func() error { return nil }, nil
	}
	b := appendFrameHead(nil, db.name, at)
	for _, c := range changes {
		if c.new != nil {
			b = appendRecordFrame(b, c.new)
		} else {
			b = append(appendBlob(b, c.old.path), 0)
		}
	}
	wait, err := s.journal.Append(b)
	if err != nil {
		if journal.Full(err) {
			s.log.Error("append commit", zap.Error(err))
			return nil, status.Errorf(codes.ResourceExhausted, "There is no room for the commit in the data directory: %v.", err)
		}
		return nil, errInternal(s.log, "append commit", err)
	}
	s.maybeCompact()
	return func() error {
		if err := wait(); err != nil {
			return errInternal(s.log, "sync commit", err)
		}
		return nil
	}, nil
}

// replay applies a frame that was written earlier.
func (s *Server) replay(frame []byte) error {
	d := decoder{b: frame}
	at, name := micros(d.uvarint()), d.blob()
	if d.bad {
		return errFrame
	}
	s.clock.advance(at)
	db := s.dbs[name]
	if db == nil {
		db = newDatabase(name, at)
		s.dbs[name] = db
	}
	for len(d.b) > 0 {
		path, created := d.blob(), micros(d.uvarint())
		if created == 0 {
			db.docs.Delete(newRecord(path, 0, 0, nil))
			continue
		}
		updated, fields := micros(d.uvarint()), d.blob()
		if d.bad {
			return errFrame
		}
		db.docs.Set(newRecord(path, created, updated, []byte(fields)))
	}
	if d.bad {
		return errFrame
	}
	db.changed = at
	db.history.forget(at)
	return nil
}

var errFrame = errors.New("frame is not a commit")

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) blob() string {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// open loads a data directory.
func (s *Server) open(dir string) error {
	j, torn, err := journal.Open(dir, s.replay)
	if err != nil {
		return fmt.Errorf("open data directory: %w", err)
	}
	if torn != nil {
		s.log.Warn("cut an unfinished commit off the log", zap.String("file", torn.File), zap.Int64("bytes", torn.Bytes))
	}
	s.journal, s.instance = j, j.Instance()
	return nil
}

// maybeCompact replaces a long log by a snapshot, in the background. The caller
// holds the server's lock.
func (s *Server) maybeCompact() {
	size := s.journal.Size()
	if s.compacting || size < compactAt || size < 2*s.snapshotSize {
		return
	}
	s.compacting = true
	// The commit being written is in the old log but not yet applied, so the
	// snapshot is taken by a goroutine that gets the lock after it.
	s.background.Go(func() {
		if err := s.compact(); err != nil {
			s.log.Error("compact log", zap.Error(err))
		}
	})
}

func (s *Server) compact() error {
	s.mu.Lock()
	generation, err := s.journal.Rotate()
	docs, at := map[string]*recordTree{}, s.clock.read()
	for name, db := range s.dbs {
		docs[name] = db.docs.Copy()
	}
	s.mu.Unlock()
	var size int64
	if err == nil {
		err = s.journal.WriteSnapshot(generation, func(emit func([]byte) error) error {
			size, err = writeSnapshot(docs, at, emit)
			return err
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacting, s.snapshotSize = false, size
	return err
}

// writeSnapshot emits every document, in frames of about a megabyte.
func writeSnapshot(docs map[string]*recordTree, at micros, emit func([]byte) error) (size int64, err error) {
	for name, tree := range docs {
		b := appendFrameHead(nil, name, at)
		head := len(b)
		flush := func() {
			size += int64(len(b))
			err = emit(b)
			b = b[:head]
		}
		tree.Scan(func(r *record) bool {
			if b = appendRecordFrame(b, r); len(b) >= 1<<20 {
				flush()
			}
			return err == nil
		})
		if err == nil {
			flush()
		}
		if err != nil {
			return size, err
		}
	}
	return size, nil
}
