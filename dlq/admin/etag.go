package admin

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// etag is the entity tag of what was changed last at that time.
func etag(t time.Time) string { return `"` + strconv.FormatInt(t.UnixNano(), 36) + `"` }

// seen reads an If-Match header: the update time of what the caller saw, zero
// when any will do. What is a tag but none of ours matches nothing.
func seen(ifMatch string) (time.Time, error) {
	ifMatch = strings.TrimSpace(ifMatch)
	if ifMatch == "" || ifMatch == "*" {
		return time.Time{}, nil
	}
	weak := strings.HasPrefix(ifMatch, "W/")
	text, ok := strings.CutPrefix(strings.TrimPrefix(ifMatch, "W/"), `"`)
	text, closed := strings.CutSuffix(text, `"`)
	if !ok || !closed || strings.Contains(text, `"`) {
		return time.Time{}, problem(http.StatusBadRequest, "If-Match holds no single entity tag", `send the ETag as it came, quotes included, or *`)
	}
	nanos, err := strconv.ParseInt(text, 36, 64)
	if err != nil || weak || etag(time.Unix(0, nanos)) != ifMatch {
		return time.Time{}, problem(http.StatusPreconditionFailed, "If-Match holds no entity tag of what it is about", "look at it again, then decide")
	}
	return time.Unix(0, nanos).UTC(), nil
}
