package contracts

import (
	"errors"
	"testing"
)

// What a log says of a panic holds no text that the program made of data.
func TestPanicText(t *testing.T) {
	for name, test := range map[string]struct {
		f    func()
		want string
	}{
		"the runtime's":      {func() { var v any = "secret"; _ = v.(int) }, "interface conversion: interface {} is string, not int"},
		"of an index":        {func() { _ = []int{1, 2}[len(t.Name())] }, "runtime error: index out of range [13] with length 2"},
		"a text":             {func() { panic("payload: secret") }, "string"},
		"an error":           {func() { panic(errors.New("payload: secret")) }, "*errors.errorString"},
		"a map of a payload": {func() { panic(map[string]any{"secret": 1}) }, "map[string]interface {}"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := PanicText(recover()); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}()
			test.f()
		})
	}
}
