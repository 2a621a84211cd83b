package auth

import (
	"encoding/json"
	"fmt"

	"go.uber.org/zap"

	"outboxrelay/deploy/local/firestore/journal"
)

// compactAt is the size in bytes of the log above which opening replaces it by a
// snapshot. It takes some thousand changes to get there.
const compactAt = 1 << 20

// open loads a data directory.
func (s *Server) open(dir string) error {
	j, torn, err := journal.Open(dir, s.replay)
	if err != nil {
		return fmt.Errorf("open Auth's data directory: %w", err)
	}
	if torn != nil {
		s.log.Warn("cut an unfinished change off the log", zap.String("file", torn.File), zap.Int64("bytes", torn.Bytes))
	}
	s.journal = j
	if j.Size() > compactAt {
		return s.compact()
	}
	return nil
}

// replay applies a change that was written earlier.
func (s *Server) replay(frame []byte) error {
	var c change
	if err := json.Unmarshal(frame, &c); err != nil {
		return fmt.Errorf("decode change: %w", err)
	}
	s.project(c.Project).apply(c)
	return nil
}

// compact replaces the log by what it comes to. Nobody else uses the server yet.
func (s *Server) compact() error {
	generation, err := s.journal.Rotate()
	if err != nil {
		return fmt.Errorf("compact Auth's log: %w", err)
	}
	return s.journal.WriteSnapshot(generation, func(emit func([]byte) error) error {
		for name, p := range s.projects {
			for _, a := range p.accounts {
				frame, err := json.Marshal(change{Project: name, Put: []account{a}})
				if err != nil {
					return fmt.Errorf("encode account: %w", err)
				}
				if err := emit(frame); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// commit writes a change and then applies it. It returns the wait for its
// durability, which is for all earlier changes too. The caller holds the lock.
func (s *Server) commit(c change) (wait func() error, err error) {
	wait = func() error { return nil }
	if s.journal != nil {
		frame, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("encode change: %w", err)
		}
		if wait, err = s.journal.Append(frame); err != nil {
			return nil, err
		}
	}
	s.project(c.Project).apply(c)
	return wait, nil
}

// project returns a project, which exists as soon as somebody speaks of it.
func (s *Server) project(id string) *project {
	p := s.projects[id]
	if p == nil {
		p = newProject()
		s.projects[id] = p
	}
	return p
}
