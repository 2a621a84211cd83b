package auth

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// keysWithin bounds one fetch of Google's keys.
	keysWithin = 5 * time.Second
	// keysPatience is how long, of a fetch, those wait for it whose key is there
	// already: a page asks for several things one after another.
	keysPatience = 500 * time.Millisecond
	// keysPause is how long a failed fetch answers for those that follow: each
	// token would ask again.
	keysPause = time.Second
	// keysRenewal is how often, at most, tokens with an unknown key make for a
	// fetch before the keys' max-age is over: anybody can make up keys.
	keysRenewal = 10 * time.Second
	// keysKept is how long after their fetch keys stand in for those that cannot
	// be fetched. Google has them cached for some 6 hours: an outage of as long
	// again signs nobody out, and a key that Google withdrew is trusted no longer.
	keysKept = 12 * time.Hour
)

// keysError is a failed fetch of keys. It says nothing about the token.
type keysError struct{ err error }

func (e *keysError) Error() string { return "fetch keys: " + e.err.Error() }
func (e *keysError) Unwrap() error { return e.err }

// keys has the keys that were fetched last, and fetches others when somebody needs
// them: once, however many do.
type keys struct {
	url  string
	next http.RoundTripper
	now  func() time.Time

	mu       sync.Mutex
	last     *keySet   // nil: none yet
	fetching *fetch    // nil: none is under way
	renewed  time.Time // when last was fetched for an unknown key
	failed   error     // of the fetch before
	untilAt  time.Time // failed stands until then
}

// fetch is one fetch that is under way. Who asked for it does not end it.
type fetch struct {
	began   time.Time // by the clock of timers
	unknown bool      // a token with an unknown key made for it
	done    chan struct{}
	set     *keySet // after done, as err
	err     error
}

// with returns the keys by which to judge a token that names a key. They may lack it: then
// Google has no such key. Every error is a *keysError.
func (k *keys) with(ctx context.Context, id string) (*keySet, error) {
	k.mu.Lock()
	now, last := k.now(), k.last
	if last != nil && now.Sub(last.at) > keysKept {
		last = nil
	}
	known, good := last.has(id), last != nil && now.Before(last.until)
	switch {
	case known && good, good && now.Sub(k.renewed) < keysRenewal:
		k.mu.Unlock()
		return last, nil
	case now.Before(k.untilAt):
		err := k.failed
		k.mu.Unlock()
		return last.orElse(known, err)
	}
	f := k.fetching
	if f == nil {
		f = &fetch{began: time.Now(), unknown: good, done: make(chan struct{})}
		k.fetching = f
		go k.fetch(context.WithoutCancel(ctx), f)
	}
	k.mu.Unlock()

	var late <-chan time.Time // never, for who has nothing without it
	if known {
		timer := time.NewTimer(keysPatience - time.Since(f.began))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-f.done:
		if f.err != nil {
			return last.orElse(known, f.err)
		}
		return f.set, nil
	case <-late:
		return last, nil
	case <-ctx.Done():
		return nil, &keysError{ctx.Err()}
	}
}

// fetch carries a fetch out. It ends within keysWithin, or with ctx.
func (k *keys) fetch(ctx context.Context, f *fetch) {
	ctx, cancel := context.WithTimeout(ctx, keysWithin)
	defer cancel()
	f.set, f.err = fetchKeys(ctx, k.next, k.url, k.now)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetching = nil
	if f.err == nil {
		k.last = f.set
		if f.unknown {
			k.renewed = f.set.at
		}
	} else {
		f.err = &keysError{f.err}
		k.failed, k.untilAt = f.err, k.now().Add(keysPause)
	}
	close(f.done)
}
