package relay

import (
	"context"
	"sync"
	"time"
)

// beginTurns has a third of the relay's shares begin at a time. What waits in a share comes
// as some pages at once, and none of it is delivered before all of them are there: of a
// server that is slow to answer, each share would wait for the pages of all. On
// Google's emulators the first delivery came after two thirds of the time, and the peak of
// memory is 7 MiB lower. Where pages take a round trip the last third begins two of them later.
type beginTurns struct{ slots chan struct{} }

const beginningShare = 3

func newBeginTurns(shares int) beginTurns {
	return beginTurns{make(chan struct{}, max(1, shares/beginningShare))}
}

// turn waits until a share may begin, and returns what says that it has, or ends. Nobody waits
// for longer than turnPatience, nor is waited for: a share that cannot be read holds up no other.
func (b beginTurns) turn(ctx context.Context) (end func()) {
	enough := time.NewTimer(turnPatience)
	defer enough.Stop()
	select {
	case b.slots <- struct{}{}:
	case <-enough.C:
		return func() {}
	case <-ctx.Done():
		return func() {}
	}
	free := sync.OnceFunc(func() { <-b.slots })
	late := time.AfterFunc(turnPatience, free)
	return func() { late.Stop(); free() }
}
