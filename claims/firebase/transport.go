package firebase

import (
	"net/http"
	"strconv"
	"time"
)

// newBase returns connections of our own. A hundred may stay open: the handler
// runs for as many accounts at once as the lane has workers.
func newBase() *http.Transport {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 100
	return base
}

// ownerToken makes a caller the administrator of an emulator.
const ownerToken = "owner"

// asOwner makes all calls an administrator's.
type asOwner struct{ next http.RoundTripper }

func (o asOwner) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+ownerToken)
	return o.next.RoundTrip(req)
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
