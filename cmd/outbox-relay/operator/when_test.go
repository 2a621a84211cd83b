package operator

import (
	"strings"
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

func TestTimesOutsideOfWhatCanBeAreRefused(t *testing.T) {
	for _, text := range []string{
		"9999999d", "-9999999d", "9223372036854775807d", "-9223372036854775807d", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59",
	} {
		var w when
		if err := w.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "before 1970 or after 9999") {
			t.Errorf("%q is taken as %v: %v", text, w.Time, err)
		}
	}
}
