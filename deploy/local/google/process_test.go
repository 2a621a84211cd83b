package google

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProcessStop(t *testing.T) {
	t.Run("kills what ignores the request to end", func(t *testing.T) {
		line := newLifeline(t)
		p := startChild(t, roleOf(t, "deaf", line.Addr().String()))
		conn := line.alive(t)
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
		dead(t, conn)
	})
	t.Run("of one that has ended is a no-op", func(t *testing.T) {
		p := startChild(t, roleOf(t, "broken", ""))
		<-p.exited
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
		if got, want := p.cause().Error(), "exit status 3"; got != want {
			t.Errorf("cause = %q, want %q", got, want)
		}
	})
}

func TestStartProcessNamesWhatItCannotRun(t *testing.T) {
	_, err := startProcess([]string{"/no/such/program"}, nil)
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("err = %v, want one that names the program", err)
	}
}

func TestProcessOutputIsPassedOnAndKept(t *testing.T) {
	var log bytes.Buffer
	p, err := startProcess(roleOf(t, "broken", ""), &log)
	if err != nil {
		t.Fatal(err)
	}
	<-p.exited
	want := "no such option\n"
	if diff := cmp.Diff([]string{want, want}, []string{log.String(), p.output.String()}); diff != "" {
		t.Errorf("log, tail (-want +got):\n%s", diff)
	}
}

// startChild starts argv with a grace that a test can wait for.
func startChild(t *testing.T, argv []string) *process {
	t.Helper()
	p, err := startProcess(argv, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.grace = 20 * time.Millisecond
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}
