package cost_test

import (
	"context"
	"slices"
	"sync"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"outboxrelay/contracts"
)

// sequences is a Firestore that bears so many writes a second to each sequence of
// the lanes' indexes: to the records that have outbox, shard and lane in common. A
// commit that comes sooner waits for its turn, first come first served, as commits
// to a hot range of an index do; one that writes to several waits for the last of
// them.
type sequences struct {
	perSecond float64

	mu      sync.Mutex
	records map[string]*sequenced // by the document's name
	until   map[sequence]time.Time
	settled map[sequence][]time.Time // when records were written for the second time
}

type sequence struct {
	outbox string
	shard  int64
	lane   contracts.Lane
}

// sequenced is a record, whose mark does not say to which sequence it belongs.
type sequenced struct {
	sequence
	writes int
}

func newSequences(perSecond float64) *sequences {
	return &sequences{
		perSecond: perSecond, records: make(map[string]*sequenced), until: make(map[sequence]time.Time), settled: make(map[sequence][]time.Time),
	}
}

// know makes a record known that is about to be appended.
func (s *sequences) know(name string, rec *contracts.Record) {
	of := sequence{outbox: rec.Outbox, lane: rec.Lane}
	if rec.Shard != nil {
		of.shard = *rec.Shard
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name] = &sequenced{sequence: of}
}

// wait holds a commit until it is borne. A nil s holds nothing.
func (s *sequences) wait(ctx context.Context, req any) error {
	sent, ok := req.(*pb.CommitRequest)
	if !ok || s == nil {
		return nil
	}
	commit, err := asReceived(sent)
	if err != nil {
		return err
	}
	timer := time.NewTimer(time.Until(s.book(commit, time.Now())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// asReceived is a commit as a server has it: a client may have put its writes on the
// wire already.
func asReceived(sent *pb.CommitRequest) (*pb.CommitRequest, error) {
	encoded, err := proto.Marshal(sent)
	if err != nil {
		return nil, err
	}
	commit := &pb.CommitRequest{}
	return commit, proto.Unmarshal(encoded, commit)
}

// book says when the last write of a commit is borne.
func (s *sequences) book(commit *pb.CommitRequest, now time.Time) (at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	writes, again := make(map[sequence]int), make(map[sequence]int)
	for _, w := range commit.GetWrites() {
		if r := s.records[w.GetUpdate().GetName()+w.GetDelete()]; r != nil {
			writes[r.sequence]++
			if r.writes++; r.writes == 2 {
				again[r.sequence]++
			}
		}
	}
	for of, n := range writes {
		from := s.until[of]
		if from.Before(now) {
			from = now
		}
		s.until[of] = from.Add(time.Duration(float64(n) / s.perSecond * float64(time.Second)))
		if s.until[of].After(at) {
			at = s.until[of]
		}
		s.settled[of] = append(s.settled[of], slices.Repeat([]time.Time{s.until[of]}, again[of])...)
	}
	return at
}

// rate is how many records a second were settled in a time: of each sequence from
// its first commit in that time to its last.
func (s *sequences) rate(from, to time.Time) (all float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, settled := range s.settled {
		var first, last time.Time
		n := 0                       // after the first commit
		for _, at := range settled { // in the order of their times
			switch {
			case at.Before(from) || !at.Before(to):
			case first.IsZero():
				first, last = at, at
			case at.After(first):
				last = at
				n++
			}
		}
		if n > 0 {
			all += float64(n) / last.Sub(first).Seconds()
		}
	}
	return all
}
