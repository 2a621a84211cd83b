package heart

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// maxStacks keeps a log entry well below Cloud Logging's 256 KiB.
const maxStacks = 128 << 10

// goroutines tells where they stand, alike ones together, the most numerous first. It
// holds no values. Package runtime/pprof would tell the same, but whoever links its
// profiles has the runtime sample each allocation, in tables of 1.5 MiB.
func goroutines() string {
	counts := make(map[string]int)
	total := 0
	for _, r := range records() {
		counts[stack(r.Stack())]++
		total++
	}
	stacks := make([]string, 0, len(counts))
	for s := range counts {
		stacks = append(stacks, s)
	}
	slices.SortFunc(stacks, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var out strings.Builder
	fmt.Fprintf(&out, "%d goroutines\n", total)
	for _, s := range stacks {
		fmt.Fprintf(&out, "\n%d of them:\n%s", counts[s], s)
	}
	if out.Len() > maxStacks {
		return out.String()[:maxStacks] + "\n... " + strconv.Itoa(out.Len()-maxStacks) + " bytes more"
	}
	return out.String()
}

// records are those of all goroutines; some may have begun while they were counted.
func records() []runtime.StackRecord {
	const spare = 64
	for {
		all := make([]runtime.StackRecord, runtime.NumGoroutine()+spare)
		if n, ok := runtime.GoroutineProfile(all); ok {
			return all[:n]
		}
	}
}

// stack is a line for each frame, the innermost first.
func stack(at []uintptr) string {
	var out strings.Builder
	for frames := runtime.CallersFrames(at); ; {
		frame, more := frames.Next()
		if frame.Function != "" {
			fmt.Fprintf(&out, "  %s %s:%d\n", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return out.String()
		}
	}
}
