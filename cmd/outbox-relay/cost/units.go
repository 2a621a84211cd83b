package cost

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes that is written as 512, 1KiB, 1.5MiB or 2kB.
type Bytes float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	digits := strings.TrimRight(s, "KMGTkiB ")
	factor, ok := map[string]float64{
		"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
	}[strings.TrimSpace(s[len(digits):])]
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || !amount(v) {
		return fmt.Errorf("%q is no size, want a number of bytes such as 512, 1KiB or 1.5MiB", s)
	}
	*b = Bytes(v * factor)
	return nil
}

// Share is a part of a whole that is written as 0.1% or 0.001.
type Share float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(text []byte) error {
	written := strings.TrimSpace(string(text))
	digits, percent := strings.CutSuffix(written, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0) || v > 1 || math.IsNaN(v) {
		return fmt.Errorf("%q is no share, want 0%% to 100%%, or 0 to 1", written)
	}
	*s = Share(v)
	return nil
}
