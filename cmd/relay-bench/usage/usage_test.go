package usage

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const tail = " S 1 42 42 0 -1 4194560 900 0 1 0 150 25 3 4 20 0 9 0 1234 1000000 500 18446744073709551615"
	for name, c := range map[string]struct {
		stat string
		want time.Duration
		fail bool
	}{
		"plain command":                {"42 (outbox-relay)" + tail, 1750 * time.Millisecond, false},
		"command with spaces":          {"42 (out box relay)" + tail, 1750 * time.Millisecond, false},
		"command with a parenthesis":   {"42 (out) S 9 (box)" + tail, 1750 * time.Millisecond, false},
		"no command":                   {"42 outbox-relay S 1", 0, true},
		"cut short":                    {"42 (outbox-relay) S 1 42", 0, true},
		"a time that is not a number":  {"42 (x) S 1 2 3 4 5 6 7 8 9 10 11 user 12", 0, true},
		"children's times not counted": {"42 (x) S 1 2 3 4 5 6 7 8 9 10 1 2 300 400 0", 30 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(c.stat))
			if (err != nil) != c.fail || got != c.want {
				t.Errorf("parseStat = %v, %v; want %v, failing %v", got, err, c.want, c.fail)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	const status = "Name:\toutbox-relay\nVmPeak:\t  999 kB\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t9\n"
	for name, c := range map[string]struct {
		field string
		want  int64
		fail  bool
	}{
		"peak":            {"VmHWM", 2 << 20, false},
		"current":         {"VmRSS", 1 << 20, false},
		"absent":          {"VmSwap", 0, true},
		"not in kB":       {"Threads", 0, true},
		"prefix of field": {"Vm", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStatus([]byte(status), c.field)
			if (err != nil) != c.fail || got != c.want {
				t.Errorf("parseStatus(%s) = %d, %v; want %d, failing %v", c.field, got, err, c.want, c.fail)
			}
		})
	}
}

func TestOfThisProcess(t *testing.T) {
	got, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got.RSS <= 0 || got.Peak < got.RSS {
		t.Errorf("usage = %+v; want something resident, and no less at its peak", got)
	}
}

func TestTimeline(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	line := Timeline{
		{at(0), Usage{CPU: time.Second, RSS: 10, Peak: 10}},
		{at(1), Usage{CPU: 2 * time.Second, RSS: 30, Peak: 40}},
		{at(3), Usage{CPU: 6 * time.Second, RSS: 20, Peak: 40}},
	}
	want := map[string]any{
		"before the first": time.Second, "on a sample": 2 * time.Second, "between two": 4 * time.Second,
		"after the last": 6 * time.Second, "of nothing": time.Duration(0), "peak": int64(40), "median": int64(20),
	}
	got := map[string]any{
		"before the first": line.CPUAt(at(-1)), "on a sample": line.CPUAt(at(1)), "between two": line.CPUAt(at(2)),
		"after the last": line.CPUAt(at(9)), "of nothing": Timeline{}.CPUAt(at(0)), "peak": line.Peak(), "median": line.Median(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
