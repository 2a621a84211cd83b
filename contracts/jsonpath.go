package contracts

import (
	"regexp"
	"strconv"
)

// jsonPath names a place inside a record: payload.lines[2].amount. A key that
// is no plain word, or a long one, is quoted: payload["my key"].
type jsonPath string

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

func (p jsonPath) key(name string) jsonPath {
	switch {
	case len(name) > quoteLimit || !plainKey.MatchString(name):
		return p + "[" + jsonPath(quoted(name)) + "]"
	case p == "":
		return jsonPath(name)
	}
	return p + "." + jsonPath(name)
}

func (p jsonPath) index(i int) jsonPath {
	return p + "[" + jsonPath(strconv.Itoa(i)) + "]"
}

// step is a key of a map, or an index of an array.
type step struct {
	key     string
	index   int
	inArray bool
}

func (p jsonPath) then(s step) jsonPath {
	if s.inArray {
		return p.index(s.index)
	}
	return p.key(s.key)
}

// quoted quotes s for a fault, shortened to quoteLimit bytes.
func quoted(s string) string {
	if len(s) > quoteLimit {
		return strconv.Quote(s[:quoteLimit]) + "..."
	}
	return strconv.Quote(s)
}
