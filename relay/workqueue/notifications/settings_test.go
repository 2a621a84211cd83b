package notifications_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/relay/workqueue/notifications"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	environment := func(pairs ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for _, p := range pairs {
				if k, v, _ := strings.Cut(p, "="); k == name {
					return v, true
				}
			}
			return "", false
		}
	}
	with := func(change func(*notifications.Settings)) notifications.Settings {
		s := notifications.Default()
		change(&s)
		return s
	}
	for _, tc := range []struct {
		name  string
		pairs []string
		want  notifications.Settings
		wrong []string // each is named by the error
	}{
		{"nothing said", nil, notifications.Default(), nil},
		{"the values of the contract are the defaults", []string{
			"NOTIFICATION_MAX_RETRIES=5", "NOTIFICATION_LOCK_SECONDS=60", "NOTIFICATION_BATCH_SIZE=400", "NOTIFICATION_DEDUPE_WINDOW_MINUTES=10",
			"NOTIFICATION_BASE_RETRY_MS=30000", "NOTIFICATION_MAX_RETRY_MS=900000", "NOTIFICATION_WORKER_ID_PREFIX=notif-worker",
		}, notifications.Default(), nil},
		{"empty is unset", []string{"NOTIFICATION_BATCH_SIZE=", "NOTIFICATION_LOG_VERBOSE= "}, notifications.Default(), nil},
		{"the optional ones", []string{"NOTIFICATION_LOG_VERBOSE=true", "NOTIFICATION_WORKER_ID_PREFIX=w"}, with(func(s *notifications.Settings) {
			s.LogVerbose, s.WorkerIDPrefix = true, "w"
		}), nil},
		{"others", []string{"NOTIFICATION_MAX_RETRIES=2", "NOTIFICATION_BASE_RETRY_MS=250", "NOTIFICATION_DEDUPE_WINDOW_MINUTES=0"}, with(func(s *notifications.Settings) {
			s.MaxRetries, s.BaseRetry, s.DedupeWindow = 2, 250*time.Millisecond, 0
		}), nil},
		{
			"every wrong one is named",
			[]string{"NOTIFICATION_MAX_RETRIES=none", "NOTIFICATION_BATCH_SIZE=401", "NOTIFICATION_LOG_VERBOSE=loud", "NOTIFICATION_LOCK_SECONDS=-1"},
			notifications.Settings{},
			[]string{`MAX_RETRIES is "none"`, `BATCH_SIZE is "401", want a whole number from 1 to 400`, `LOG_VERBOSE is "loud"`, `LOCK_SECONDS is "-1"`},
		},
		{"a longest wait under the first", []string{"NOTIFICATION_MAX_RETRY_MS=1000"}, with(func(s *notifications.Settings) { s.MaxRetry = time.Second }), []string{"less than NOTIFICATION_BASE_RETRY_MS"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := notifications.FromEnvironment(environment(tc.pairs...))
			if (err != nil) != (tc.wrong != nil) {
				t.Fatalf("error %v, want one that names %q", err, tc.wrong)
			}
			for _, want := range tc.wrong {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not hold %q", err, want)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	s := notifications.Default()
	var got []time.Duration
	for attempts := range 8 {
		got = append(got, s.Backoff(attempts+1))
	}
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute, 15 * time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if got := s.Backoff(1 << 30); got != s.MaxRetry {
		t.Errorf("wait after a billion attempts: %v", got)
	}
}
