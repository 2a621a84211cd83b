package operator

import (
	"errors"

	"github.com/alecthomas/kong"

	"outboxrelay/cmd/outbox-relay/program"
)

// ChooseToken settles whether a token or the command that prints it counts: the one that stands on the command
// line before the variable of the other, and of two variables the token.
func ChooseToken(parsed *kong.Context, token *string) error {
	commanded := program.Given(parsed, "token-command")
	switch {
	case commanded && program.Given(parsed, "token"):
		return errors.New("--token and --token-command: give one of them")
	case commanded:
		*token = ""
	}
	return nil
}

// AfterApply is called by kong.
func (f *apiFlags) AfterApply(parsed *kong.Context) error { return ChooseToken(parsed, &f.Token) }
