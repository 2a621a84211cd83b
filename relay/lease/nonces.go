package lease

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// nonces makes the nonces of one keeper's commits and recognises them. A nonce
// is "RUN.N": the keeper's own random run, and the number of the commit, which
// tells when it was sent. The commit may be applied long after it was given up,
// so every one within a term is remembered.
type nonces struct {
	run  string
	last int
	sent map[int]time.Time
	keep time.Duration
	now  func() time.Time
}

func newNonces(keep time.Duration, now func() time.Time) *nonces {
	return &nonces{run: uuid.NewString(), sent: make(map[int]time.Time), keep: keep, now: now}
}

// next is the nonce of a commit that is sent now.
func (n *nonces) next() (nonce string, sent time.Time) {
	sent = n.now()
	for i, at := range n.sent {
		if sent.Sub(at) > n.keep {
			delete(n.sent, i)
		}
	}
	n.last++
	n.sent[n.last] = sent
	return n.run + "." + strconv.Itoa(n.last), sent
}

// mine reports whether this keeper wrote the nonce, and when it sent it. A zero
// time means too long ago to matter.
func (n *nonces) mine(nonce string) (sent time.Time, mine bool) {
	number, found := strings.CutPrefix(nonce, n.run+".")
	if !found {
		return time.Time{}, false
	}
	i, err := strconv.Atoi(number)
	return n.sent[i], err == nil
}
