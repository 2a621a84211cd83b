// Package examples holds the first page of docs/outbox.md to what it says.
package examples

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"outboxrelay/deploy/local/freeport"
	"outboxrelay/deploy/local/postgres/postgrestest"
	"outboxrelay/deploy/local/redis/redistest"
	"outboxrelay/deploy/local/thorough"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(postgrestest.Main(m), goleak.IgnoreAnyFunction("go.opencensus.io/stats/view.(*worker).start")) // started by an import
}

// screen is what the commands print.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// The commands run as they stand on the page, but for the addresses and the folder of the programs.
func TestFirstPage(t *testing.T) {
	thorough.EndToEnd(t) // it builds four programs
	page, err := os.ReadFile("../../../docs/outbox.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(page, 3)
	if len(blocks) != 3 || !strings.HasPrefix(string(blocks[1][1]), "export DATABASE_URL=") {
		t.Fatal("the page does not begin as this test knows it")
	}
	start, orders := string(blocks[1][1]), string(blocks[2][1])
	ports, err := freeport.Several(2) // of Pub/Sub, and of the publisher
	if err != nil {
		t.Fatal(err)
	}
	database, redisURL := postgrestest.Database(t), redistest.URL(t)
	for page, here := range map[string]string{
		"postgres://postgres@127.0.0.1:5432/postgres": "'" + database + "'", "redis://127.0.0.1:6379": redisURL,
		"127.0.0.1:8085": "127.0.0.1:" + ports[0], "8088": ports[1], "bin/": t.TempDir() + "/", "cloud --pubsub": "cloud --firestore 127.0.0.1:0 --auth 127.0.0.1:0 --pubsub",
	} {
		if !strings.Contains(start, page) {
			t.Errorf("the page does not say %s", page)
		}
		start, orders = strings.ReplaceAll(start, page, here), strings.ReplaceAll(orders, page, here)
	}
	const waits, done = "receipts: waiting for orders", "receipt for order "
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-uc", "trap 'kill $(jobs -p); wait' EXIT\n"+start+"read -r\n"+orders+"read -r\n")
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as everything else is built, so that little has to be here
	cmd.WaitDelay = 10 * time.Second
	var out screen
	cmd.Stdout, cmd.Stderr = &out, &out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{waits, done + ".*(?s:.*)" + done} {
		for wanted := regexp.MustCompile(text); !wanted.MatchString(out.String()); {
			select {
			case <-ctx.Done():
				t.Fatalf("not printed: %s\n%s", text, out.String())
			case <-time.After(50 * time.Millisecond):
			}
		}
		if _, err := stdin.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil && ctx.Err() != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, want := range []string{": 12.50 (event ", ": 7.00 (event ", "is placed, event "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not printed: %s\n%s", want, out.String())
		}
	}
}
