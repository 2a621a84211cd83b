package child

import (
	"io"
	"os"
	"strings"
	"testing"
)

func startTestChild(t *testing.T, mode string, out io.Writer) *Process {
	t.Helper()
	c, err := Start(Spec{Name: mode, Path: os.Args[0], Env: []string{childMode + "=" + mode}, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestChildStopsWhenAsked(t *testing.T) {
	out, lines := io.Pipe()
	c := startTestChild(t, "waits", lines)
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, ready); err != nil { // its handler is in place now
		t.Fatal(err)
	}
	if err := c.Ended(); err != nil {
		t.Errorf("ended while it runs: %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func TestChildThatFailsIsQuoted(t *testing.T) {
	c := startTestChild(t, "fails", nil)
	<-c.Exited()
	err := c.Stop()
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "no cheese today") {
		t.Errorf("error = %v, want the exit status and what it printed", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var tl Tail
	for range tailBytes {
		_, _ = tl.Write([]byte("ab"))
	}
	_, _ = tl.Write([]byte("end"))
	got := tl.String()
	if len(got) != tailBytes || !strings.HasSuffix(got, "abend") {
		t.Errorf("tail has %d bytes and ends in %q; want %d and abend", len(got), got[len(got)-5:], tailBytes)
	}
}
