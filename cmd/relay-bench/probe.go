package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"outboxrelay/cmd/relay-bench/table"
	"outboxrelay/deploy/local/child"
)

// soakSample is what a relay told about itself at a time.
type soakSample struct {
	at         time.Time
	goroutines float64
	rss, heap  float64 // bytes; heap: in use
	fds        float64
	cpu        float64 // seconds so far
}

func (s soakSample) String() string {
	return fmt.Sprintf("goroutines %.0f, RSS %s MiB, heap %s MiB, fds %.0f",
		s.goroutines, table.Number(s.rss/(1<<20)), table.Number(s.heap/(1<<20)), s.fds)
}

// sampleWithin bounds one look: a relay that takes longer to answer is sick.
const sampleWithin = 5 * time.Second

// sample asks the relay for its metrics.
func (k *soaking) sample(ctx context.Context) (soakSample, error) {
	if err := k.relay.Ended(); err != nil {
		return soakSample{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.metrics, nil)
	if err != nil {
		return soakSample{}, fmt.Errorf("read metrics: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return soakSample{}, fmt.Errorf("read metrics: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return soakSample{}, fmt.Errorf("read metrics: answer is %s", resp.Status)
	}
	s, err := parseMetrics(resp.Body)
	if err != nil {
		return soakSample{}, fmt.Errorf("read metrics: %w", err)
	}
	s.at = time.Now()
	return s, nil
}

// parseMetrics takes a sample out of the text format. Its metrics have no labels.
func parseMetrics(text io.Reader) (soakSample, error) {
	var s soakSample
	wanted := map[string]*float64{
		"go_goroutines":                 &s.goroutines,
		"process_resident_memory_bytes": &s.rss,
		"go_memstats_heap_inuse_bytes":  &s.heap,
		"process_open_fds":              &s.fds,
		"process_cpu_seconds_total":     &s.cpu,
	}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		into, ok := wanted[name]
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return soakSample{}, fmt.Errorf("parse %s: %w", name, err)
		}
		*into = v
		delete(wanted, name)
	}
	if err := lines.Err(); err != nil {
		return soakSample{}, err
	}
	for name := range wanted {
		return soakSample{}, fmt.Errorf("no %s among them", name)
	}
	return s, nil
}

// servingLog finds the relay's address in its log, and drops the rest of it.
type servingLog struct {
	addr chan string // of capacity 1; gets the address once

	mu    sync.Mutex
	begun []byte // of a line that has no end yet; nil once the address is found
	found bool
}

func newServingLog() *servingLog { return &servingLog{addr: make(chan string, 1)} }

// Write never fails.
func (l *servingLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found {
		return len(p), nil
	}
	l.begun = append(l.begun, p...)
	for !l.found {
		line, rest, ended := bytes.Cut(l.begun, []byte("\n"))
		if !ended {
			return len(p), nil
		}
		l.begun = rest
		if addr := servingAddr(line); addr != "" {
			l.addr <- addr
			l.begun, l.found = nil, true
		}
	}
	return len(p), nil
}

// servingAddr is the address in a line that tells of one, and "" in any other.
func servingAddr(line []byte) string {
	var entry struct{ Message, Addr string }
	if json.Unmarshal(line, &entry) != nil || entry.Message != "serving" {
		return ""
	}
	return entry.Addr
}

// serveWithin is how long a relay may take until it serves.
const serveWithin = 30 * time.Second

func (l *servingLog) await(ctx context.Context, relay *child.Process) (string, error) {
	timer := time.NewTimer(serveWithin)
	defer timer.Stop()
	select {
	case addr := <-l.addr:
		return addr, nil
	case <-relay.Exited():
		return "", relay.Ended()
	case <-timer.C:
		return "", fmt.Errorf("await address of relay: none within %v: %s", serveWithin, relay.Output())
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
