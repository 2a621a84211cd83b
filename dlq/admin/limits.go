package admin

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxLimited is how many keys have a bucket of their own. Those beyond share one.
	maxLimited = 4096
	// strangersPerSecond and strangersBurst bound the requests of one address that
	// carry no valid credential. They are far above what people and probes behind one
	// proxy do, so that who forgot a token is told so, and below what would keep this
	// process from its work.
	strangersPerSecond = 100
	strangersBurst     = 2000
)

// limits bounds how often something happens, for each key.
type limits struct {
	rate  rate.Limit
	burst int
	now   func() time.Time

	mu       sync.Mutex
	buckets  map[string]*rate.Limiter
	overflow *rate.Limiter
}

func newLimits(perSecond float64, burst int, now func() time.Time) *limits {
	limit := rate.Limit(perSecond)
	return &limits{
		rate: limit, burst: burst, now: now,
		buckets: make(map[string]*rate.Limiter), overflow: rate.NewLimiter(limit, burst),
	}
}

// take takes one of the key's tokens. Where there is none it returns how long
// one takes to come.
func (l *limits) take(key string) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	bucket := l.bucket(key, now)
	if bucket.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - bucket.TokensAt(now)
	return time.Duration(missing / float64(l.rate) * float64(time.Second)), false
}

func (l *limits) bucket(key string, now time.Time) *rate.Limiter {
	if b, ok := l.buckets[key]; ok {
		return b
	}
	if len(l.buckets) >= maxLimited {
		for k, b := range l.buckets { // a full bucket is as good as a new one
			if b.TokensAt(now) >= float64(l.burst) {
				delete(l.buckets, k)
			}
		}
	}
	if len(l.buckets) >= maxLimited {
		return l.overflow
	}
	b := rate.NewLimiter(l.rate, l.burst)
	l.buckets[key] = b
	return b
}

// neighbourhood is a remote address as strangers are counted: an IPv4 address, or
// the /64 of an IPv6 one, whose owner has all of it.
func neighbourhood(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	prefix, _ := ip.Prefix(64) // cannot fail for IPv6
	return prefix.String()
}
