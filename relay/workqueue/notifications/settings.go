package notifications

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxBatch keeps a commit of notifications, with the documents that stand beside them in it,
// under 500 writes.
const maxBatch = 400

// Settings say how events are dispatched. Default has every one of them.
type Settings struct {
	MaxRetries     int           // attempts, the first included; the last one that fails ends the event
	Lock           time.Duration // how long a claim lasts unless it is renewed
	BatchSize      int           // notifications written in one commit at most
	DedupeWindow   time.Duration // how long a dispatched dedupeKey keeps others of its tenant away
	BaseRetry      time.Duration // wait after the first failure
	MaxRetry       time.Duration // longest wait
	WorkerIDPrefix string        // begins the workerId of a claim
	LogVerbose     bool          // a log line for each commit, beside that of each run
}

// Default returns the settings of an environment that says nothing.
func Default() Settings {
	return Settings{
		MaxRetries: 5, Lock: time.Minute, BatchSize: maxBatch, DedupeWindow: 10 * time.Minute,
		BaseRetry: 30 * time.Second, MaxRetry: 15 * time.Minute, WorkerIDPrefix: "notif-worker",
	}
}

// FromEnvironment reads the NOTIFICATION_ variables. One that is unset or empty has its
// default. The error names every variable that is wrong, not just the first.
func FromEnvironment(lookup func(string) (string, bool)) (Settings, error) {
	s := Default()
	e := environment{lookup: lookup}
	e.number("NOTIFICATION_MAX_RETRIES", 1, 100, func(n int64) { s.MaxRetries = int(n) })
	e.number("NOTIFICATION_LOCK_SECONDS", 5, 3600, func(n int64) { s.Lock = time.Duration(n) * time.Second })
	e.number("NOTIFICATION_BATCH_SIZE", 1, maxBatch, func(n int64) { s.BatchSize = int(n) })
	e.number("NOTIFICATION_DEDUPE_WINDOW_MINUTES", 0, 7*24*60, func(n int64) { s.DedupeWindow = time.Duration(n) * time.Minute })
	const day = 24 * 60 * 60 * 1000
	e.number("NOTIFICATION_BASE_RETRY_MS", 1, day, func(n int64) { s.BaseRetry = time.Duration(n) * time.Millisecond })
	e.number("NOTIFICATION_MAX_RETRY_MS", 1, day, func(n int64) { s.MaxRetry = time.Duration(n) * time.Millisecond })
	if prefix, ok := e.text("NOTIFICATION_WORKER_ID_PREFIX"); ok {
		s.WorkerIDPrefix = prefix
	}
	if text, ok := e.text("NOTIFICATION_LOG_VERBOSE"); ok {
		verbose, err := strconv.ParseBool(text)
		if err != nil {
			e.wrong("NOTIFICATION_LOG_VERBOSE is %q, want true or false", text)
		}
		s.LogVerbose = verbose
	}
	if err := errors.Join(e.faults...); err != nil {
		return Settings{}, err
	}
	return s, s.Check()
}

// Check tells what is wrong with settings that were not read from the environment.
func (s Settings) Check() error {
	switch {
	case s.MaxRetries < 1:
		return fmt.Errorf("NOTIFICATION_MAX_RETRIES is %d, want 1 or more", s.MaxRetries)
	case s.Lock <= 0:
		return fmt.Errorf("NOTIFICATION_LOCK_SECONDS is %v, want more than none", s.Lock)
	case s.BatchSize < 1 || s.BatchSize > maxBatch:
		return fmt.Errorf("NOTIFICATION_BATCH_SIZE is %d, want 1 to %d", s.BatchSize, maxBatch)
	case s.DedupeWindow < 0:
		return fmt.Errorf("NOTIFICATION_DEDUPE_WINDOW_MINUTES is %v, want none or more", s.DedupeWindow)
	case s.BaseRetry <= 0:
		return fmt.Errorf("NOTIFICATION_BASE_RETRY_MS is %v, want more than none", s.BaseRetry)
	case s.MaxRetry < s.BaseRetry:
		return fmt.Errorf("NOTIFICATION_MAX_RETRY_MS is %v, less than NOTIFICATION_BASE_RETRY_MS, which is %v", s.MaxRetry, s.BaseRetry)
	}
	return nil
}

// Backoff is how long an event waits after the failure of its attempt of that number, the
// first being 1: the base doubled for each attempt before it, and never more than the longest.
func (s Settings) Backoff(attempts int) time.Duration {
	delay := s.BaseRetry
	for range attempts - 1 {
		if delay >= s.MaxRetry/2 {
			return s.MaxRetry
		}
		delay *= 2
	}
	return min(delay, s.MaxRetry)
}

// environment collects what is wrong with variables.
type environment struct {
	lookup func(string) (string, bool)
	faults []error
}

func (e *environment) text(name string) (string, bool) {
	text, _ := e.lookup(name)
	text = strings.TrimSpace(text)
	return text, text != ""
}

func (e *environment) number(name string, least, most int64, set func(int64)) {
	text, ok := e.text(name)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		e.wrong("%s is %q, want a whole number from %d to %d", name, text, least, most)
		return
	}
	set(n)
}

func (e *environment) wrong(format string, args ...any) {
	e.faults = append(e.faults, fmt.Errorf(format, args...))
}
