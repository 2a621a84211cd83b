package pubsub

import (
	"context"
	"sync"
)

// keyLocks gives each ordering key to one caller at a time. A key takes memory
// only while somebody holds it or waits for it.
type keyLocks struct {
	mu    sync.Mutex
	locks map[string]*keyLock
}

type keyLock struct {
	users int           // holder and waiters; under keyLocks.mu
	token chan struct{} // full while held
}

func newKeyLocks() *keyLocks { return &keyLocks{locks: map[string]*keyLock{}} }

// acquire waits for key until ctx ends. release must be called once.
func (k *keyLocks) acquire(ctx context.Context, key string) (release func(), err error) {
	k.mu.Lock()
	l := k.locks[key]
	if l == nil {
		l = &keyLock{token: make(chan struct{}, 1)}
		k.locks[key] = l
	}
	l.users++
	k.mu.Unlock()

	select {
	case l.token <- struct{}{}:
		return func() {
			<-l.token
			k.leave(key, l)
		}, nil
	case <-ctx.Done():
		k.leave(key, l)
		return nil, ctx.Err()
	}
}

func (k *keyLocks) leave(key string, l *keyLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.users--
	if l.users == 0 {
		delete(k.locks, key)
	}
}

// size is how many keys are held or waited for.
func (k *keyLocks) size() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.locks)
}
