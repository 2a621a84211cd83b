package feed

import "testing"

func TestPortionsGoBySize(t *testing.T) {
	type read struct {
		records int
		bytes   int64
	}
	records := func(sizes ...int64) (out read) {
		for _, s := range sizes {
			out = read{out.records + 1, out.bytes + s}
		}
		return out
	}
	var p portion
	if page, window := p.page(200, 1<<20), p.window(500, 4<<20); page != firstPortion || window != 500 {
		t.Errorf("before any is known, pages of %d and a window of %d", page, window)
	}
	for _, step := range []struct {
		read         read
		page, window int
	}{
		{records(2048, 4096), 200, 500},      // small ones: as many as are allowed
		{records(256 << 10), 4, leastWindow}, // large ones count at once
		{records(), 4, leastWindow},          // nothing new
		{records(64 << 10), 6, 25},           // smaller ones by halves
		{records(64<<10, 64<<10), 9, 36},     // (160 + 64) / 2 = 112 KiB
		{records(4 << 20), 1, leastWindow},   // one at least
		{records(0), 1, leastWindow},
		{records(0, 0), 1, leastWindow},
		{records(0), 2, leastWindow}, // 512 KiB
		{records(0), 4, leastWindow},
		{records(0), 8, 32},
	} {
		p.learn(step.read.records, step.read.bytes)
		if page, window := p.page(200, 1<<20), p.window(500, 4<<20); page != step.page || window != step.window {
			t.Errorf("after %d records, typically %d bytes: pages of %d, a window of %d, want %d and %d",
				step.read.records, p.typical, page, window, step.page, step.window)
		}
	}
}
