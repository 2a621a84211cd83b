package doctor

import (
	"context"
	"fmt"
	"time"

	sdk "cloud.google.com/go/firestore"
)

// Bounds of the difference between this machine's clock and the server's.
const (
	clockWarn = time.Second
	clockFail = 30 * time.Second // what identity tokens forgive
)

// clock compares this machine's with Firestore's. Leases go by the server's alone,
// but tokens of identity have a time at which they begin and end, and lag is from
// the server's time of the append to this machine's.
func (e *exam) clock(ctx context.Context, g *Group, client *sdk.Client) {
	const check, did = "clock", "read a document, and compare its read time with this machine's"
	ctx, cancel := within(ctx)
	defer cancel()
	began := e.Now()
	snap, err := client.Collection(probes).Doc("none").Get(ctx)
	took := e.Now().Sub(began)
	if snap == nil || snap.ReadTime.IsZero() {
		g.skip(check, "the server told no time: %s", whyOr(err, "the answer holds none"))
		return
	}
	off := snap.ReadTime.Sub(began.Add(took / 2))
	beyond := max(off.Abs()-took/2, 0)
	f := Finding{Check: check, Result: OK, Did: did, Detail: fmt.Sprintf("this clock differs from the server's by less than %v", clockWarn)}
	if beyond > clockWarn {
		f.Result = Warn
		direction, tokens, lag := "behind", "not yet valid", "short"
		if off < 0 {
			direction, tokens, lag = "ahead of", "too old", "long"
		}
		f.Detail = fmt.Sprintf("this clock is at least %v %s the server's: tokens seem %s, a relay here tells lag as so much too %s, and alerts go by that; leases do not mind",
			beyond.Round(100*time.Millisecond), direction, tokens, lag)
		f.Mend = []string{"sudo timedatectl set-ntp true"}
	}
	if beyond > clockFail {
		f.Result = Fail
	}
	g.add(f)
}
