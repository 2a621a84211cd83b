package cost

import "time"

// Operations are what Firestore bills for, of one thing or in a second.
type Operations struct {
	Reads   float64 `json:"reads"`
	Writes  float64 `json:"writes"`
	Deletes float64 `json:"deletes"` // by the relay
	Expired float64 `json:"expired"` // by a TTL policy: no free quota covers these
}

// Plus adds.
func (o Operations) Plus(p Operations) Operations {
	return Operations{o.Reads + p.Reads, o.Writes + p.Writes, o.Deletes + p.Deletes, o.Expired + p.Expired}
}

// Times multiplies.
func (o Operations) Times(f float64) Operations {
	return Operations{o.Reads * f, o.Writes * f, o.Deletes * f, o.Expired * f}
}

// every is what o comes to in a second when it happens once in d.
func (o Operations) every(d time.Duration) Operations { return o.Times(1 / d.Seconds()) }

// reads is so many reads.
func reads(n float64) Operations { return Operations{Reads: n} }
