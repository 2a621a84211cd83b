package gcp

import (
	"context"
	"net"
	"time"
)

// dialWithin bounds the look whether anybody listens at an emulator's address:
// the clients themselves would wait for it without saying why.
const dialWithin = 3 * time.Second

// What is told of an emulator where nobody listens.
const (
	Unanswered = "nobody answers at the emulator's address"
	ToAnswer   = "start the emulator, or unset its variable to use Google's own"
)

// Dial finds out whether anybody listens at an emulator's HOST:PORT.
func Dial(ctx context.Context, emulator string) error {
	dialer := net.Dialer{Timeout: dialWithin}
	conn, err := dialer.DialContext(ctx, "tcp", emulator)
	if err != nil {
		return err
	}
	_ = conn.Close() // nothing was sent
	return nil
}

// Emulator is one that a variable leads to.
type Emulator struct{ Variable, Addr string }

// Emulators are those of the place.
func (p Place) Emulators() []Emulator {
	var out []Emulator
	for _, e := range []Emulator{{EnvFirestore, p.Firestore}, {EnvPubSub, p.PubSub}, {EnvAuth, p.Auth}} {
		if e.Addr != "" {
			out = append(out, e)
		}
	}
	return out
}
