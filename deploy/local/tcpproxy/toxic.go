package tcpproxy

// Toxic is what happens to the bytes of a proxy's connections.
type Toxic struct {
	Type       string         `json:"type"`
	Stream     string         `json:"stream"` // upstream: from the relay; downstream: to it
	Attributes map[string]int `json:"attributes"`
}

// Swallow lets no byte through in a direction, and ends no connection.
func Swallow(stream string) Toxic {
	return Toxic{Type: "timeout", Stream: stream, Attributes: map[string]int{"timeout": 0}}
}

// Delay holds what flows to the relay, give or take jitter; both in milliseconds.
func Delay(millis, jitter int) Toxic {
	return Toxic{Type: "latency", Stream: "downstream", Attributes: map[string]int{"latency": millis, "jitter": jitter}}
}

// Narrow bounds what flows in a direction, in KB a second.
func Narrow(stream string, rate int) Toxic {
	return Toxic{Type: "bandwidth", Stream: stream, Attributes: map[string]int{"rate": rate}}
}
