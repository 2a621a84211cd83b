package cost

// Traffic is what one record takes on the network, in bytes as Firestore and
// Pub/Sub count them: what protobuf, HTTP/2 and TLS put around it comes on top.
type Traffic struct {
	Read      float64 `json:"read"`      // its document, once
	Published float64 `json:"published"` // to the topics of its targets
	Marked    float64 `json:"marked"`    // what its mark writes, or its deletion names
	Sampled   float64 `json:"sampled"`   // lag samples
}

// Sum is all of it.
func (t Traffic) Sum() float64 { return t.Read + t.Published + t.Marked + t.Sampled }

// trafficOf is the average of outboxes that have such rates.
func trafficOf(sizes map[string]Sizes, rates map[string]float64, rate, topics, targets float64) (t Traffic) {
	for name, s := range sizes {
		share := rates[name] / rate
		t.Read += share * s.Pending
		t.Published += share * s.Message * topics
		t.Marked += share * s.Mark
	}
	t.Sampled = bytesOfSample * targets
	return t
}
