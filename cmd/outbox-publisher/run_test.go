package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"outboxrelay/deploy/local/child"
	"outboxrelay/deploy/local/freeport"
	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/deploy/local/pubsub"
)

const (
	testProject = "shop"
	testTopic   = "pf-domain-events"
)

// stage is what a publisher's process runs on.
type stage struct {
	*testing.T
	url    string
	server *pubsub.Server
	port   string
	env    []string
	stderr *buffer
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func setStage(t *testing.T, topics ...string) *stage {
	t.Helper()
	s := &stage{T: t, url: postgrestest.Database(t), stderr: &buffer{}}
	if code, _, stderr := runProgram(t, map[string]string{"DATABASE_URL": s.url}, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	var err error
	if s.server, err = pubsub.Open(pubsub.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	if err := s.server.CreateTopics(testProject, topics); err != nil {
		t.Fatal(err)
	}
	addr, err := s.server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s.port, err = freeport.One(); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		asProgram + "=1", "DATABASE_URL=" + s.url, "GOOGLE_CLOUD_PROJECT=" + testProject, "PUBSUB_EMULATOR_HOST=" + addr,
		"HOST=127.0.0.1", "PORT=" + s.port, "PACKFINDERZ_OUTBOX_PUBLISH_POLL_MS=50",
	}
	return s
}

// start starts the program, and waits until it serves.
func (s *stage) start(args ...string) *child.Process {
	s.Helper()
	path, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	process, err := child.Start(child.Spec{Name: name, Path: path, Args: args, Env: s.env, Stderr: s.stderr})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(process.Kill)
	s.await("it serves", func() bool {
		if err := process.Ended(); err != nil {
			s.Fatal(err)
		}
		status, _ := s.get("/healthz")
		return status == http.StatusOK
	})
	return process
}

func (s *stage) await(what string, ask func() bool) {
	s.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		select {
		case <-again.C:
		case <-deadline.C:
			s.Fatalf("%s: not within %v; the program says:\n%s", what, patience, s.stderr)
		}
	}
}

// get asks one page; status 0: nobody answers.
func (s *stage) get(path string) (status int, body string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+s.port+path, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func (s *stage) published() (n int) {
	s.Helper()
	conn, err := pgx.Connect(s.Context(), s.url)
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(s.Context(), `SELECT count(*) FROM outbox_events WHERE published_at IS NOT NULL`).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

func TestRunPublishesAndTellsHowItIs(t *testing.T) {
	t.Parallel()
	s := setStage(t, testTopic)
	process := s.start()
	id := uuid.New()
	execute(t, s.url, insertSQL, id, 0, nil)
	s.await("the row is published", func() bool { return s.published() == 1 })
	s.await("it is ready", func() bool { status, _ := s.get("/readyz"); return status == http.StatusOK })
	_, metrics := s.get("/metrics")
	for _, want := range []string{
		`relay_lag_seconds_count{lane="STANDARD_LANE",outbox="outbox_events",outcome="acked",target="pf-domain-events"} 1`,
		`relay_breaker_state{target="pf-domain-events"} 0`, `relay_parked_records{outbox="outbox_events"} 0`,
		`relay_pubsub_messages_total{result="acked",topic="pf-domain-events"} 1`, "relay_build_info",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"message":"published"`, `"event_id":"` + id.String(), `"event_type":"order_created"`, `"aggregate_type":"vendor_order"`, `"aggregate_id":"`} {
		if !strings.Contains(s.stderr.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

func TestNotReadyWithoutItsTopic(t *testing.T) {
	t.Parallel()
	s := setStage(t)
	process := s.start()
	status, body := s.get("/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "topic pf-domain-events is missing") {
		t.Errorf("readyz answers %d: %s", status, body)
	}
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
	s.start("--ensure-topic")
	s.await("it is ready", func() bool { status, _ := s.get("/readyz"); return status == http.StatusOK })
}

// slow has each publish take seconds, and a row to publish.
func (s *stage) slow() {
	s.Helper()
	if _, err := s.server.Faults().Add(pubsub.Fault{Delay: 3 * time.Second}); err != nil {
		s.Fatal(err)
	}
	execute(s.T, s.url, insertSQL, uuid.New(), 0, nil)
	s.await("the publish is under way", func() bool {
		for _, fault := range s.server.Faults().List() {
			if fault.Hit > 0 {
				return true
			}
		}
		return false
	})
}

func TestTermDrains(t *testing.T) {
	t.Parallel()
	s := setStage(t, testTopic)
	process := s.start()
	s.slow()
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
	if n := s.published(); n != 1 {
		t.Error("what was under way has no mark")
	}
	if !strings.Contains(s.stderr.String(), `"message":"stopped"`) {
		t.Errorf("the log does not tell the end:\n%s", s.stderr)
	}
}

func TestSecondTermEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := setStage(t, testTopic)
	process := s.start()
	s.slow()
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.await("it is stopping", func() bool { _, body := s.get("/readyz"); return strings.Contains(body, "it is stopping") })
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-process.Exited():
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if err := process.Ended(); err == nil || !strings.Contains(err.Error(), "exit status 143") {
		t.Errorf("it ended with %v", err)
	}
	if n := s.published(); n != 0 {
		t.Error("it waited for the acknowledgement")
	}
}

// with is the URL with one setting more.
func with(url, setting string) string {
	joint := "?"
	if strings.Contains(url, "?") {
		joint = "&"
	}
	return url + joint + setting
}

// A database that answers and refuses each round, as a standby does, is told.
func TestNotReadyOnAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	s := setStage(t, testTopic)
	s.env = append(s.env, "DATABASE_URL="+with(s.url, "default_transaction_read_only=on")) // the last one counts
	process := s.start()
	s.await("it is not ready", func() bool {
		status, body := s.get("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "rounds failed") && strings.Contains(body, "25006")
	})
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
}
