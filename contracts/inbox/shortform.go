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

// UnknownState is what CheckAndMarkProcessed answers of an event in a state that its version does not know: the newer
// version that wrote it may have handled the event or not, and neither may be told.
func UnknownState(state string) error {
	return fmt.Errorf("it is in state %q, which this version does not know: a newer one may have handled it", state)
}
