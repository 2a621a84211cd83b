package operator

import (
	"testing"
	"time"
)

func TestTimesThatArePrintedAreTaken(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	now := time.Date(2026, 11, 27, 4, 59, 2, 0, time.UTC)
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("CET", 3600), time.FixedZone("-03", -3*3600)} {
		time.Local = zone
		for text, want := range map[string]time.Time{
			moment(now):                 now,
			"2026-11-27 04:59:02 UTC":   now,
			"2026-11-27T04:59:02Z":      now,
			"2026-11-27T05:59:02+01:00": now,
			"2h":                        now.Add(-2 * time.Hour),
			"-1h":                       now.Add(time.Hour),
			"3d":                        now.Add(-72 * time.Hour),
		} {
			if got, ok := timeTyped(text, now); !ok || !got.Equal(want) {
				t.Errorf("%s: %q is taken as %v, %t; want %v", zone, text, got, ok, want)
			}
		}
		for _, text := range []string{"", "d", "1hd", "yesterday", "2026-11-27", "2026-11-27 04:59:02", "2026-11-27 04:59:02 PST"} {
			if got, ok := timeTyped(text, now); ok {
				t.Errorf("%s: %q is taken as %v", zone, text, got)
			}
		}
	}
}
