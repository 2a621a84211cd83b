package console

import (
	"fmt"
	"testing"

	"go.uber.org/zap"

	"outboxrelay/dlq/follower"
)

func TestPastKnowsWhatChangedSince(t *testing.T) {
	p := newPast()
	before := p.position()
	p.add([]string{"a", "b"})
	between := p.position()
	p.add([]string{"b"})
	for _, tt := range []struct {
		topic, since string
		want         bool
	}{
		{"a", before, true},
		{"b", before, true},
		{"c", before, false},
		{"a", between, false},
		{"b", between, true},
		{"b", p.position(), false},
		{"c", "", true},
		{"c", "other.0", true},
		{"c", p.instance + ".4", true}, // it was never given out
	} {
		if got := p.changed(tt.topic, tt.since); got != tt.want {
			t.Errorf("changed(%q, %q) = %v, want %v", tt.topic, tt.since, got, tt.want)
		}
	}
}

func TestPastIsBounded(t *testing.T) {
	p := newPast()
	before := p.position()
	for n := range 3 * maxPast {
		p.add([]string{fmt.Sprint(n)})
	}
	if len(p.topics) != maxPast {
		t.Errorf("%d topics are remembered", len(p.topics))
	}
	if !p.changed("0", before) {
		t.Error("what is forgotten counts as unchanged")
	}
}

func TestAnyChangeIsEveryTopics(t *testing.T) {
	l := newLive(nil, zap.NewNop())
	since := l.position()
	s := l.open([]string{"a", "b"}, since)
	l.told([]follower.Change{{}})
	if got := s.take(); len(got) != 2 {
		t.Errorf("told of %v", got)
	}
	if got := l.open([]string{"c"}, since).take(); len(got) != 1 {
		t.Errorf("one that opens later is told of %v", got)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	l := newLive(nil, zap.NewNop())
	var last *stream
	for range maxStreams {
		if last = l.open(nil, ""); last == nil {
			t.Fatal("a stream is refused too early")
		}
	}
	if l.open(nil, "") != nil {
		t.Error("a stream is opened beyond the bound")
	}
	l.leave(last)
	if l.open(nil, "") == nil {
		t.Error("a stream that ended keeps its place")
	}
}
