package google

import (
	"os/exec"
	"testing"
)

func TestProcessStopReachesGrandchildren(t *testing.T) {
	line := newLifeline(t)
	p := startChild(t, roleOf(t, "forker", line.Addr().String()))
	conn := line.alive(t)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	dead(t, conn)
}

func TestKernelEndsTheChildOfAKilledParent(t *testing.T) {
	line := newLifeline(t)
	argv := roleOf(t, "parent", line.Addr().String())
	parent := exec.Command(argv[0], argv[1:]...)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	conn := line.alive(t)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	dead(t, conn)
}
