package outbox

import (
	"regexp"
	"strconv"
)

// path names a place within a payload as the relay's faults do: payload.lines[2].amount.
type path string

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]{0,99}$`)

func (p path) key(name string) path {
	if !plainKey.MatchString(name) {
		return p + "[" + path(quoted(name)) + "]"
	}
	return p + "." + path(name)
}

func (p path) index(i int) path { return p + "[" + path(strconv.Itoa(i)) + "]" }
