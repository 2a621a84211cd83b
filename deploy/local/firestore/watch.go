package firestore

import (
	"context"
	"encoding/binary"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// lease waits until the view of a shape is filled and returns it, for the caller
// to release or to attach a target to.
func (s *Server) lease(ctx context.Context, db *database, sh shape) (*view, error) {
	s.mu.Lock()
	v, docs := db.lease(sh, s.now())
	s.mu.Unlock()
	if docs != nil {
		v.fill(docs)
		s.mu.Lock()
		v.finish()
		s.mu.Unlock()
		return v, nil
	}
	select {
	case <-v.ready:
		return v, nil
	case <-ctx.Done():
		s.release(v)
		return nil, ctx.Err()
	}
}

// release ends a lease.
func (s *Server) release(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.leases--
}

// attach lets commits touch a target, and puts it where the client's resume token
// says that the client is. A token that tells nothing resets the client.
func (s *Server) attach(db *database, t *target, in *pb.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.query != nil {
		t.view.leases--
		t.view.targets[t] = struct{}{}
	}
	for _, path := range t.names {
		if db.watched[path] == nil {
			db.watched[path] = map[*target]struct{}{}
		}
		db.watched[path][t] = struct{}{}
	}
	if in.GetResumeType() == nil {
		return
	}
	at, ok := s.resumePoint(in)
	if ok {
		var changes []change
		if changes, ok = db.history.since(at); ok {
			t.resume(db, changes)
		}
	}
	t.reset = !ok
}

func (s *Server) detach(db *database, t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.query != nil {
		delete(t.view.targets, t)
		t.view.touchUsed(s.now())
	}
	for _, path := range t.names {
		delete(db.watched[path], t)
		if len(db.watched[path]) == 0 {
			delete(db.watched, path)
		}
	}
}

// collect gathers what all targets of a stream have to say, as of one time.
func (s *Server) collect(db *database, targets []*target) (out []notice, at micros) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, t := range targets {
		if t.started && !t.dirty {
			continue
		}
		notices, reads := t.collect(db)
		out = append(out, notices...)
		if t.query != nil {
			s.billing.read(t.query.collection, reads)
		} else if len(t.names) > 0 {
			s.billing.read(collectionID(parentOf(t.names[0])), reads)
		}
	}
	return out, s.clock.read()
}

// token tells where a client is that has seen everything up to at. It begins with
// the instance, for a time alone means nothing to another store.
func (s *Server) token(at micros) []byte {
	b := append(make([]byte, 0, 16), s.instance[:]...)
	return binary.BigEndian.AppendUint64(b, uint64(at))
}

// resumePoint reads what token wrote. A read time, which clients may give in its
// place, is taken at its word.
func (s *Server) resumePoint(in *pb.Target) (micros, bool) {
	if rt := in.GetReadTime(); rt != nil {
		return microsOf(rt), true
	}
	token := in.GetResumeToken()
	if len(token) != 16 || string(token[:8]) != string(s.instance[:]) {
		return 0, false
	}
	at := micros(binary.BigEndian.Uint64(token[8:]))
	return at, at <= s.clock.read()
}
