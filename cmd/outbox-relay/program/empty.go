package program

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"
)

// refuseEmpty has every flag refuse an empty value, as "$DIR" of a variable that is not set gives it: some kinds
// take it for the flag left out, and a path for the working directory. A flag whose default is empty takes it.
func refuseEmpty(k *kong.Kong) error {
	return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok && !flag.IsBool() && (!flag.HasDefault || flag.Default != "") {
			flag.Mapper = filled{flag.Mapper}
		}
		return next(nil)
	})
}

// filled reads a value that is not empty.
type filled struct{ kong.Mapper }

func (m filled) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Value == "" {
		return errors.New("it is empty: leave the flag out, or give it a value")
	}
	return m.Mapper.Decode(ctx, target)
}

// emptyArgument refuses an argument that is given and empty, as "$LANE" of a variable that is not set: a
// command would take it for one that is left out.
func emptyArgument(parsed *kong.Context) error {
	for _, at := range parsed.Path {
		if at.Positional == nil {
			continue
		}
		given := at.Positional.Target
		empty := given.Kind() == reflect.String && given.Len() == 0
		if given.Kind() == reflect.Slice {
			for _, one := range given.Seq2() {
				empty = empty || one.Kind() == reflect.String && one.Len() == 0
			}
		}
		if empty {
			return fmt.Errorf("<%s> is empty", at.Positional.Name)
		}
	}
	return nil
}
