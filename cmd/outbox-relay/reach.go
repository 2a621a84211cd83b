package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"go.uber.org/zap"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/dlq/admin/auth"
	dlqfirestore "outboxrelay/dlq/firestore"
)

// tellUnreachable logs which emulators do not answer, beside the relay, which waits for
// them: what it says of its own calls comes late and without an address.
func tellUnreachable(ctx context.Context, at gcp.Place, log *zap.Logger) {
	for _, e := range at.Emulators() {
		if err := gcp.Dial(ctx, e.Addr); err != nil && ctx.Err() == nil {
			log.Warn(gcp.Unanswered+"; waiting for it ("+gcp.ToAnswer+")",
				zap.String("variable", e.Variable), zap.String("emulator", e.Addr), zap.Error(err))
		}
	}
}

// dialFirestore opens the Firestore of a command that has no log. It tells whoever waits
// that nobody answers there, as the client itself waits without a word.
func dialFirestore(ctx context.Context, at gcp.Place, stderr io.Writer) (*dlqfirestore.Client, error) {
	if at.Firestore != "" {
		if err := gcp.Dial(ctx, at.Firestore); err != nil && ctx.Err() == nil {
			fmt.Fprintf(stderr, "%s, %s=%s; waiting for it (%s)\n", gcp.Unanswered, gcp.EnvFirestore, at.Firestore, gcp.ToAnswer)
		}
	}
	return at.DialFirestore(ctx)
}

// where tells what the service reaches for, for a log line.
func where(at gcp.Place) zap.Field {
	var parts []string
	for _, e := range at.Emulators() {
		parts = append(parts, e.Variable+"="+e.Addr)
	}
	if at.Firestore == "" {
		parts = append(parts, "Google's own Firestore")
	}
	return zap.String("cloud", strings.Join(parts, " "))
}

// whoMayAsk is who may use the admin API and the console, in a log line.
func whoMayAsk(mode auth.Mode) string {
	switch mode {
	case auth.ModeOff:
		return "nobody, as AUTH_MODE is not set: /admin/v1 and the console turn everybody away (AUTH_MODE=oidc or iap opens them; dev on loopback)"
	case auth.ModeDev:
		return "AUTH_MODE dev: whoever reaches this loopback address, with a well-known token"
	}
	return "AUTH_MODE " + string(mode) + ": those of the roles file"
}
