package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"outboxrelay/dlq"
)

const (
	// beat is the longest silence of a stream: a page that hears nothing for
	// three of them says that it is stale.
	beat = 5 * time.Second
	// gather is how long a stream collects changes before it tells them: a bulk
	// replay makes hundreds a second.
	gather = 300 * time.Millisecond
	// streamFor bounds a stream, below Cloud Run's own bound of a request.
	streamFor = 4 * time.Minute
	// maxTopics bounds what one page follows.
	maxTopics = 8
)

// stream answers with server-sent events: each names topics that changed.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	if err := s.mayListen(r); err != nil {
		w.WriteHeader(faultOf(err).Status) // the page, fetched again, says why
		return
	}
	query := r.URL.Query()
	topics, since := query["on"], query.Get("since")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		since = last
	}
	if len(topics) > maxTopics {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	stream := s.live.open(topics, since)
	if stream == nil {
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer s.live.leave(stream)
	control := http.NewResponseController(w)
	s.pump(r.Context(), stream, func() bool { return s.mayListen(r) == nil }, func(text string) bool {
		// The server's own deadline is for answers that come to an end.
		_ = control.SetWriteDeadline(time.Now().Add(2 * beat)) // not every writer has one
		_, err := fmt.Fprint(w, text)
		return err == nil && control.Flush() == nil
	})
}

// mayListen tells why somebody may not follow what changes; nil if they may.
func (s *server) mayListen(r *http.Request) error {
	who, err := s.visitorOf(r)
	if err == nil && !who.May(dlq.Viewer) {
		return &fault{http.StatusForbidden, "this needs the role viewer", "ask for it"}
	}
	return err
}

// pump sends what a stream is told until it ends, or may reports that whoever
// listens may no longer: their identity has expired, or lost its role.
func (s *server) pump(ctx context.Context, stream *stream, may func() bool, send func(string) bool) {
	over := time.NewTimer(streamFor)
	defer over.Stop()
	beats := time.NewTicker(beat)
	defer beats.Stop()
	clock := time.NewTicker(clockEvery)
	defer clock.Stop()
	if !send("retry: 1000\nevent: hello\ndata: \n\n") {
		return
	}
	for {
		var text string
		select {
		case <-ctx.Done():
			return
		case <-s.live.done:
			return
		case <-over.C:
			return
		case <-beats.C:
			if !may() {
				return
			}
			text = "event: beat\ndata: \n\n"
		case <-clock.C:
			if !slices.Contains(stream.topics, topicClock) {
				continue
			}
			text = changeEvent(topicClock)
		case <-stream.wake:
			if !s.rest(ctx, gather) {
				return
			}
			select {
			case <-stream.wake: // by what is taken below
			default:
			}
			at := s.live.position()
			topics := stream.take()
			if len(topics) == 0 {
				continue
			}
			text = fmt.Sprintf("id: %s\n%s", at, changeEvent(topics...))
		}
		if !send(text) {
			return
		}
	}
}

// rest waits for a while; false when the stream ended meanwhile.
func (s *server) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-s.live.done:
		return false
	case <-t.C:
		return true
	}
}
