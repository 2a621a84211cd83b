package dlq

// TraceName is what a trace is called in the paths of the admin API: its ID, but as no path
// can carry "." and "..", these are written as in FreezeName.
func TraceName(traceID string) string { return FreezeName(traceID) }

// NamedTrace is the trace that a TraceName stands for.
func NamedTrace(name string) (traceID string) { return NamedFreeze(name) }
