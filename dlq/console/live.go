package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
	"outboxrelay/dlq/follower"
)

// Changes tells of what changed in the queue; *follower.Follower does.
type Changes interface {
	// Follow calls told until ctx ends. A zero Change is that anything may have
	// changed.
	Follow(ctx context.Context, told func([]follower.Change)) error
}

// Topics that a page can follow. Those of one thing are the topic of its kind,
// a colon and the thing's ID.
const (
	topicClock   = "clock" // every clockEvery: what this instance knows without asking anybody
	topicDLQ     = string(dlq.SubjectDeadLetter)
	topicFreezes = string(dlq.SubjectFreeze)
	topicLanes   = string(dlq.SubjectLane)
	topicBulks   = string(dlq.SubjectBulk)
	topicAudit   = "audit" // any decision, and any end
	// topicQueueItems tells of decisions alone: what workers do is told to nobody.
	topicQueueItems = string(dlq.SubjectQueueItem)
)

const (
	clockEvery = 2 * time.Second
	// unfollowAfter is how long the listeners are kept after the last page went: one
	// that is loaded again would open them anew.
	unfollowAfter = 10 * time.Second
	// maxStreams bounds the pages that are open at the same time.
	maxStreams = 500
)

// streamURL is where a page hears of its topics.
func streamURL(topics []string) string { return Prefix + "/live?" + url.Values{"on": topics}.Encode() }

// changeEvent is the event that tells of topics, as JSON: an ID may hold anything.
func changeEvent(topics ...string) string {
	data, _ := json.Marshal(topics) // texts can be encoded
	return fmt.Sprintf("event: change\ndata: %s\n\n", data)
}

// live tells open pages of what changed. While no page is open it costs nothing.
type live struct {
	changes Changes
	log     *zap.Logger
	done    chan struct{} // closed by close

	mu      sync.Mutex
	closed  bool
	streams map[*stream]struct{}
	past    past
	end     context.CancelFunc // of the follower; nil: none runs
	idle    *time.Timer        // ends the follower; nil: somebody looks, or none runs
	running sync.WaitGroup
}

func newLive(c Changes, log *zap.Logger) *live {
	return &live{changes: c, log: log, done: make(chan struct{}), streams: make(map[*stream]struct{}), past: newPast()}
}

// position names the last change that was told.
func (l *live) position() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.past.position()
}

// stream is one open page.
type stream struct {
	topics []string
	mu     sync.Mutex
	news   map[string]struct{} // topics that changed and were not told
	wake   chan struct{}
}

// tell notes that a topic changed.
func (s *stream) tell(topic string) {
	s.mu.Lock()
	s.news[topic] = struct{}{}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what is to be told, sorted.
func (s *stream) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for topic := range s.news {
		out = append(out, topic)
	}
	clear(s.news)
	slices.Sort(out)
	return out
}

// open begins a stream of what changed since a position; nil when there are too
// many, or the console is closed.
func (l *live) open(topics []string, since string) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.streams) >= maxStreams {
		return nil
	}
	s := &stream{topics: topics, news: make(map[string]struct{}), wake: make(chan struct{}, 1)}
	l.streams[s] = struct{}{}
	for _, t := range topics {
		if l.past.changed(t, since) {
			s.tell(t)
		}
	}
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
	if l.end == nil && l.changes != nil {
		ctx, cancel := context.WithCancel(context.Background())
		l.end = cancel
		l.running.Go(func() { l.follow(ctx) })
	}
	return s
}

// follow follows until ctx ends. A follower that fails, as none should, is begun
// anew. Its error may hold data of a record, so that its type alone is logged.
func (l *live) follow(ctx context.Context) {
	for {
		if err := l.changes.Follow(ctx, l.told); err != nil {
			l.log.Error("follow changes of the queue", zap.String("error", fmt.Sprintf("%T", err)))
		}
		pause := time.NewTimer(beat)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// leave ends a stream, and the follower some time after the last.
func (l *live) leave(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, s)
	if len(l.streams) == 0 && l.end != nil && !l.closed {
		l.idle = time.AfterFunc(unfollowAfter, l.unfollow)
	}
}

func (l *live) unfollow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle != nil && l.end != nil {
		l.end()
		l.end, l.idle = nil, nil
	}
}

// close ends all streams and waits for the follower.
func (l *live) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.done)
		if l.idle != nil {
			l.idle.Stop()
			l.idle = nil
		}
		if l.end != nil {
			l.end()
			l.end = nil
		}
	}
	l.mu.Unlock()
	l.running.Wait()
}

// told hands changes to the streams that follow their topics.
func (l *live) told(changes []follower.Change) {
	var topics []string
	for _, c := range changes {
		if c == (follower.Change{}) {
			l.tellAll([]string{anyTopic})
			return
		}
		topics = append(topics, string(c.Subject), string(c.Subject)+":"+c.On)
		if c.Subject != dlq.SubjectBulk { // whose progress is no decision
			topics = append(topics, topicAudit)
		}
	}
	l.tellAll(topics)
}

// tellAll tells each stream those of topics that it follows.
func (l *live) tellAll(topics []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past.add(topics)
	for s := range l.streams {
		for _, t := range s.topics {
			if slices.Contains(topics, t) || slices.Contains(topics, anyTopic) {
				s.tell(t)
			}
		}
	}
}
