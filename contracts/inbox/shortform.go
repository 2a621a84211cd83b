package inbox

import (
	"errors"
	"fmt"
	"time"
)

// CheckMark tells what is wrong with what CheckAndMarkProcessed was asked for. A mark that ends as it
// is made keeps no duplicate away, and one of an event without ID keeps away all that have none.
func CheckMark(consumer, eventID string, ttl time.Duration) error {
	switch {
	case consumer == "":
		return errors.New("the consumer has no name")
	case eventID == "":
		return errors.New("the event has no ID")
	case ttl < time.Millisecond: // as the stores count
		return fmt.Errorf("ttl is %v, want a millisecond at least: %v, say", ttl, DefaultRetention)
	}
	return nil
}
