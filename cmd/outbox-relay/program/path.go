package program

import (
	"errors"
	"reflect"

	"github.com/alecthomas/kong"
)

// decodePath reads a flag of type path. One that is given and empty, as "$DIR" of a variable
// that is not set, is refused: kong makes the working directory of it.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("file", &path); err != nil {
		return err
	}
	if path == "" {
		return errors.New("it is empty: leave the flag out, or give it a value")
	}
	if path != "-" {
		path = kong.ExpandPath(path)
	}
	target.SetString(path)
	return nil
}
