package table

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Median is NaN where there is nothing.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// Number writes a value with about three digits that mean something.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "n/a"
	case v == 0:
		return "0"
	case math.Abs(v) < 10:
		return fmt.Sprintf("%.2f", v)
	case math.Abs(v) < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func numbers(values []float64) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = Number(v)
	}
	return strings.Join(parts, " ")
}
