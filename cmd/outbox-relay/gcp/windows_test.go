package gcp

import "testing"

// What waits in a window takes up at most twice what came in, from the smallest buffer
// to the largest frame.
func TestFramesTakeUpAtMostTwiceTheirSize(t *testing.T) {
	pool := frames()
	for size := 128; size <= 16<<10; size += 61 {
		buf := pool.Get(size)
		if len(*buf) != size || cap(*buf) > 2*size {
			t.Fatalf("a frame of %d bytes got a buffer of %d in %d", size, len(*buf), cap(*buf))
		}
		pool.Put(buf)
	}
}
