package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"

	"outboxrelay/dlq"
)

// DevIdentities lists the identities of mode dev. The token of each is its name.
func DevIdentities() []Identity {
	return []Identity{
		{"dev-viewer", dlq.Viewer},
		{"dev-operator", dlq.Operator},
		{"dev-security", dlq.Security},
		{"dev-security-2", dlq.Security}, // two, for the two-person rule
	}
}

// dev knows static tokens.
type dev struct {
	identities []Identity
	sums       [][sha256.Size]byte // of the tokens, so that all compare alike
}

func newDev() *dev {
	d := &dev{identities: DevIdentities()}
	for _, i := range d.identities {
		d.sums = append(d.sums, sha256.Sum256([]byte(i.Name)))
	}
	return d
}

func (d *dev) Authenticate(r *http.Request) (Identity, error) {
	if !AskedAtLoopback(r) {
		return Identity{}, &Refusal{
			Kind: Forbidden, Code: "host", Detail: "in mode dev this service answers only requests for localhost or a loopback address",
			Hint: "use http://127.0.0.1 and the port of the service",
		}
	}
	token, refusal := bearer(r)
	if refusal != nil {
		refusal.Challenge = bearerChallenge
		return Identity{}, refusal
	}
	sum, found := sha256.Sum256([]byte(token)), -1
	for n := range d.sums {
		if subtle.ConstantTimeCompare(sum[:], d.sums[n][:]) == 1 {
			found = n
		}
	}
	if found < 0 {
		return Identity{}, &Refusal{
			Kind: Unauthenticated, Code: "token", Detail: "this is none of the tokens of mode dev", Challenge: bearerChallenge,
			Hint: "use dev-viewer, dev-operator, dev-security or dev-security-2",
		}
	}
	return d.identities[found], nil
}
