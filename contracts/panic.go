package contracts

import "fmt"

// PanicText tells of a panic what a log may hold: what the runtime says of a fault of the
// program, and of any other value its type alone, as its text may hold data of a record.
// The stack, which holds no text, tells the place.
func PanicText(p any) string {
	if err, ok := p.(interface{ RuntimeError() }); ok {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%T", p)
}
