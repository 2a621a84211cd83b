package shell

import (
	"errors"
	"fmt"
	"testing"
)

func TestCode(t *testing.T) {
	refused := Exit(ExitRefused, errors.New("a record is bad"))
	for name, tc := range map[string]struct {
		err  error
		want int
	}{
		"none":        {nil, ExitOK},
		"any":         {errors.New("no"), ExitFailed},
		"misused":     {Usagef("--flag is %d", 1), ExitUsage},
		"with a code": {refused, ExitRefused},
		"wrapped":     {fmt.Errorf("append: %w", refused), ExitRefused},
		"joined":      {errors.Join(errors.New("close: no"), refused), ExitRefused},
	} {
		if got := Code(tc.err); got != tc.want {
			t.Errorf("%s: code %d, want %d", name, got, tc.want)
		}
	}
}
