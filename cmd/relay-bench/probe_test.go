package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sampleMetrics = `# HELP go_goroutines Number of goroutines that currently exist.
# TYPE go_goroutines gauge
go_goroutines 87
go_memstats_heap_inuse_bytes 1.2e+07
process_cpu_seconds_total 12.5
process_open_fds 21
process_resident_memory_bytes 4.8e+07
relay_commit_seconds_bucket{le="0.005"} 3
`

func TestParseMetrics(t *testing.T) {
	got, err := parseMetrics(strings.NewReader(sampleMetrics))
	if err != nil {
		t.Fatal(err)
	}
	want := soakSample{goroutines: 87, rss: 4.8e7, heap: 1.2e7, fds: 21, cpu: 12.5}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(soakSample{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseMetricsTellsWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"missing":   {"process_open_fds 21\n", "", "no process_open_fds"},
		"no number": {"go_goroutines 87", "go_goroutines many", "parse go_goroutines"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseMetrics(strings.NewReader(strings.Replace(sampleMetrics, c.from, c.to, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestServingLog(t *testing.T) {
	serving := `{"severity":"INFO","message":"serving","addr":"127.0.0.1:4711"}` + "\n"
	for name, writes := range map[string][]string{
		"first line":    {serving},
		"after others":  {"not JSON\n" + `{"message":"listening","addr":"elsewhere"}` + "\n" + serving},
		"in pieces":     {"noise\n" + serving[:20], serving[20:50], serving[50:]},
		"more than one": {serving + serving, serving},
	} {
		t.Run(name, func(t *testing.T) {
			l := newServingLog()
			for _, w := range writes {
				if n, err := l.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			select {
			case got := <-l.addr:
				if got != "127.0.0.1:4711" {
					t.Errorf("address %q", got)
				}
			default:
				t.Error("no address found")
			}
		})
	}
}
