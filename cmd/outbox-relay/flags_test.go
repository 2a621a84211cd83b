package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/shell"
)

// A flag that is given and empty, as "$LANE" of a variable that is not set, is refused in the same
// words by whatever command and of whatever kind it is.
func TestAFlagThatIsGivenAndEmptyIsRefused(t *testing.T) {
	model, err := kong.New(&cli{}, tuningDefaults(), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	tried := make(map[string]bool)
	for _, command := range model.Model.Leaves(false) {
		for _, flag := range command.Flags {
			if flag.IsBool() || tried[flag.Name] || flag.Name == "auth-mode" || flag.Name == "page-token" { // empty: nobody, and the first page
				continue
			}
			tried[flag.Name] = true
			args := append(strings.Fields(command.FullPath())[1:], "--"+flag.Name+"=")
			_, err := parse(args, shell.LookupIn(nil), nil, nil)
			if want := "--" + flag.Name + ": it is empty: leave the flag out, or give it a value"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %q", args, err, want)
			}
		}
	}
	if len(tried) < 50 {
		t.Errorf("only %d flags were tried", len(tried))
	}
}
