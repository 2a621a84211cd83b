package localrun

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

// tryOut prints commands that decide about the troubles, as they work in
// another terminal. addr is the service's URL.
func tryOut(w io.Writer, addr string, troubles []*demo.Trouble) {
	if len(troubles) == 0 {
		return
	}
	as := func(who, command string) {
		fmt.Fprintf(w, "  OUTBOX_RELAY_URL=%s OUTBOX_RELAY_TOKEN=dev-%s %s dlq %s\n", addr, who, self(), command)
	}
	fmt.Fprintln(w, "In a few seconds there are dead letters. Try, in another terminal:")
	as("viewer", "list")
	as("viewer", "groups")
	for _, t := range troubles {
		id := shell.Quote(t.DeadLetter())
		fmt.Fprintf(w, "%s, %s: ", t.Tier, t.Record.EventType)
		switch t.Tier {
		case contracts.SafeAuto:
			fmt.Fprintln(w, "it is replayed by itself, and its second replay succeeds.")
			as("viewer", "show "+id)
		case contracts.ReviewRequired:
			fmt.Fprintln(w, "it waits for an operator, while later records of its aggregate pass it.")
			as("viewer", "show "+id)
			as("operator", "replay "+id+" --wait --reason 'the target takes it now'")
		case contracts.SecurityBlock:
			fmt.Fprintln(w, whyBlocked(t)+" Someone with the security role authorizes its replay, and lets the held records go.")
			as("viewer", "freezes")
			as("security", "authorize "+id+" --reason 'checked with the owner'")
			as("operator", "replay "+id+" --wait --reason 'authorized'")
			as("security", "release "+shell.Quote(t.Record.AggregateID)+" --reason 'the role is in place'")
		}
	}
	as("viewer", "trace "+shell.Quote(troubles[len(troubles)-1].Record.TraceID))
	as("viewer", "audit")
	fmt.Fprintln(w)
}

// whyBlocked tells why a SECURITY_BLOCK trouble is one.
func whyBlocked(t *demo.Trouble) string {
	if t.Account() == "" {
		return "it freezes its account."
	}
	return "the account's claims cannot be set, as it has no user until the third failure; so it is frozen."
}

// self is how this program can be called again from the same directory.
func self() string {
	exe, err := os.Executable()
	if err != nil || strings.Contains(exe, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/outbox-relay"
	}
	return exe
}
