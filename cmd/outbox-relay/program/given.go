package program

import (
	"slices"

	"github.com/alecthomas/kong"
)

// Given reports whether a flag stands on the command line, wherever else it may have a value from.
func Given(parsed *kong.Context, flag string) bool {
	return slices.ContainsFunc(parsed.Path, func(at *kong.Path) bool {
		return at.Flag != nil && at.Flag.Name == flag && !at.Resolved
	})
}
