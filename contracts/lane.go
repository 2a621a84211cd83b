package contracts

// Lane is a priority class with its own workers and its own SLA.
type Lane string

// The three lanes, most urgent first.
const (
	CriticalLane   Lane = "CRITICAL_LANE"
	StandardLane   Lane = "STANDARD_LANE"
	BackgroundLane Lane = "BACKGROUND_LANE"
)

// Lanes lists every lane, most urgent first.
func Lanes() []Lane { return []Lane{CriticalLane, StandardLane, BackgroundLane} }

// Valid reports whether l is one of the three lanes.
func (l Lane) Valid() bool {
	switch l {
	case CriticalLane, StandardLane, BackgroundLane:
		return true
	}
	return false
}
