package dlq

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// pinText renders what was selected as a short text: how many there are, when
// the latest of them was changed, and a digest of all IDs and update times. It is
// no secret and no promise: it only tells whether a selection is the same.
func pinText(items []*Item) string {
	var latest time.Time
	digest := sha256.New()
	for _, i := range items {
		if i.UpdateTime.After(latest) {
			latest = i.UpdateTime
		}
		fmt.Fprintf(digest, "%d:%s %d\n", len(i.ID), i.ID, i.UpdateTime.UnixNano())
	}
	return fmt.Sprintf("%d.%s.%s", len(items), strconv.FormatInt(latest.UnixNano(), 36), base64.RawURLEncoding.EncodeToString(digest.Sum(nil)[:16]))
}

// fits refuses a selection that is not the one that was pinned, and tells how
// much of that is left. What was not changed since is what it was then: whether
// something is selected depends on itself alone.
func (s *Selection) fits(pin string) error {
	if pin == "" || pin == s.Pin {
		return nil
	}
	total, rest, ok := strings.Cut(pin, ".")
	at, _, whole := strings.Cut(rest, ".")
	before, err := strconv.Atoi(total)
	nanos, err2 := strconv.ParseInt(at, 36, 64)
	if !ok || !whole || err != nil || err2 != nil {
		return &Refusal{Kind: Invalid, Detail: "the pin is none of a dry run", Hint: "send it as it came, or look again"}
	}
	latest := time.Unix(0, nanos)
	kept := 0
	for _, i := range s.Items {
		if !i.UpdateTime.After(latest) {
			kept++
		}
	}
	kept = min(kept, before)
	return &Refusal{
		Kind: Changed, Detail: fmt.Sprintf("it is not what you looked at any more: of %d dead letters %d are as they were, %d went or changed, and %d came or changed since",
			before, kept, before-kept, len(s.Items)-kept),
		Hint: "look at it again, then start it",
	}
}
