package publisher

import "testing"

// way is one of the ways to claim.
type way struct {
	name   string
	window int
	upTo   int64 // migrations that it needs, 0: all of them
}

var ways = []way{{"near", 0, 0}, {"walking", walking, 0}, {"with the index", 100, 0}, {"without", 100, 1}}

// eachWay runs a test for each. Before one ends, so have its transactions: the next migrates a table, which waits for them.
func eachWay(t *testing.T, run func(t *testing.T, w way)) {
	t.Helper()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { run(t, w) })
	}
}

func (w way) setup(t *testing.T) *fixture {
	t.Helper()
	return setup(t, w.upTo)
}

func (w way) claim(f *fixture, batch int) claim {
	f.Helper()
	return f.claimAs(w.window, batch, w.upTo == 0)
}
