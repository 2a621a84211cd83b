package operator

import (
	"fmt"
	"strings"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/dlq"
)

// pastable reports whether an ID can stand in a command that is printed, and is not taken
// for a flag there.
func pastable(id string) bool { return !strings.HasPrefix(id, "-") && dlq.Pastable(id) }

// noCommand is told in place of commands about an ID that is not.
const noCommand = "no command here can carry its ID: use the console"

// because is the end of a command that asks for a reason.
const because = " --reason '...'"

// command is the command line that does something about id, after a lead; "" where there
// is none.
func (d *desk) command(lead, verb, id, flags string) string {
	if !pastable(id) {
		return ""
	}
	return lead + d.self + " " + verb + " " + shell.Quote(id) + flags
}

// offer prints a command, where there is one.
func (d *desk) offer(lead, verb, id, flags string) {
	if line := d.command(lead, verb, id, flags); line != "" {
		fmt.Fprintln(d.Stdout, line)
	}
}
