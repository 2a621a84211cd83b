package heart

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"outboxrelay/relay"
)

func healthz(h http.Handler) (code int, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	return w.Code, w.Body.String()
}

func TestHeartStopsWithoutBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logged := observer.New(zapcore.ErrorLevel)
		h := New(zap.New(core))
		quick, slow := h.Watch("quick", time.Second), h.Watch("slow", time.Minute)
		time.Sleep(time.Hour)
		if code, _ := healthz(h); code != http.StatusOK {
			t.Errorf("before the first beats: %d", code)
		}
		quick.Beat()
		slow.Beat()
		time.Sleep(30 * time.Second)
		quick.Beat()
		if code, _ := healthz(h); code != http.StatusOK {
			t.Errorf("after a beat of the quick one, within the patience of the slow: %d", code)
		}
		time.Sleep(40 * time.Second)
		quick.Beat()
		code, body := healthz(h)
		if code != http.StatusServiceUnavailable || !strings.Contains(body, "slow: no sign of life for 1m10s") {
			t.Errorf("after 70 s without a beat of the slow one: %d %s", code, body)
		}
		if code, _ := healthz(h); code != http.StatusServiceUnavailable {
			t.Errorf("asked again: %d", code)
		}
		if logged.Len() != 1 || !strings.Contains(logged.All()[0].ContextMap()["goroutines"].(string), "heart.(*Heart).ServeHTTP") {
			t.Errorf("logged %v, want the goroutines once", logged.All())
		}
		slow.Beat()
		if code, _ := healthz(h); code != http.StatusOK {
			t.Errorf("after a beat: %d", code)
		}
		time.Sleep(time.Hour)
		h.Rest()
		if code, _ := healthz(h); code != http.StatusOK {
			t.Errorf("while it stops: %d", code)
		}
	})
}

// stubborn is a relay that does not answer while its lock is held.
type stubborn struct{ lock chan struct{} }

func (s stubborn) Health() relay.Health {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	return relay.Health{}
}

// A lock that is never released is what only a restart mends.
func TestHeartFeelsADeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, r := New(zap.NewNop()), stubborn{make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		felt := make(chan error, 1)
		go func() { felt <- h.Feel(ctx, r) }()
		time.Sleep(time.Hour)
		if code, body := healthz(h); code != http.StatusOK {
			t.Errorf("while it answers: %d %s", code, body)
		}
		r.lock <- struct{}{}
		time.Sleep(pulseEvery + relayPatience + time.Second)
		if code, body := healthz(h); code != http.StatusServiceUnavailable || !strings.Contains(body, "relay: no sign of life") {
			t.Errorf("without an answer: %d %s", code, body)
		}
		<-r.lock
		cancel()
		if err := <-felt; err != nil {
			t.Error(err)
		}
	})
}
