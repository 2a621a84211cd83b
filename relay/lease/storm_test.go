package lease

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestStorm has instances come, stop and crash, and their ways to the server
// fail in every manner, at random. No share ever has two valid owners, and once
// the storm is over all of them are shared evenly. OUTBOX_RELAY_SEED replays one
// storm.
func TestStorm(t *testing.T) {
	seeds := []uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}
	if s, err := strconv.ParseUint(os.Getenv("OUTBOX_RELAY_SEED"), 10, 64); err == nil {
		seeds = []uint64{s}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { storm(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func storm(t *testing.T, r *rand.Rand) {
	w := newBubble(t, names("s", r.IntN(9))...)
	live := []*node{w.start("N0")}
	pick := func() *node { return live[r.IntN(len(live))] }
	remove := func(n *node) {
		for i := range live {
			if live[i] == n {
				live = append(live[:i:i], live[i+1:]...)
				return
			}
		}
	}
	for i := range 150 {
		switch n := pick(); r.IntN(12) {
		case 0, 1:
			if len(live) < 4 {
				live = append(live, w.start(fmt.Sprint("N", i+1), func(n *node, c *Config) {
					c.Term = time.Duration(5+r.IntN(15)) * time.Second
					n.drain = time.Duration(r.IntN(300)) * time.Millisecond
				}))
			}
		case 2:
			if len(live) > 1 {
				remove(n)
				n.cancel() // it stops beside what follows
			}
		case 3:
			if len(live) > 1 {
				remove(n)
				n.crash()
			}
		case 4:
			n.client.with(func(f *faults) { f.lose = 1 + r.IntN(4) })
		case 5:
			n.client.with(func(f *faults) { f.late = time.Duration(r.IntN(12000)) * time.Millisecond })
		case 6:
			n.client.with(func(f *faults) { f.cut = true })
		case 7:
			n.client.with(func(f *faults) { f.down = true })
		case 8:
			n.client.with(func(f *faults) { f.deaf = true })
		case 9:
			w.server.jump(time.Duration(r.IntN(1000)-500) * time.Millisecond)
		default:
			n.client.with(func(f *faults) { *f = faults{} })
		}
		w.pass(time.Duration(r.IntN(4000)) * time.Millisecond)
	}
	for _, n := range live {
		n.client.with(func(f *faults) { *f = faults{} })
	}
	w.until("the shares are even", func() bool { return w.shared(live...) })
	for _, n := range live[1:] {
		n.stop()
	}
	w.until("one has them all", func() bool { return w.shared(live[0]) && live[0].keeper.Owns(Queue) })
}
