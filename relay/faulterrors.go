package relay

import (
	"fmt"
	"time"

	"outboxrelay/contracts"
)

// maxFaultErrors bounds the errors that faults make: as many of the latest as
// dlq.BoundErrors keeps, so that a dead letter tells all of them.
const maxFaultErrors = 40

// faultErrors tells every fault of a record as an error of its dead letter: one each, or
// where there are too many for that, several to an error. What has no room even so is
// counted.
func faultErrors(faults contracts.Faults, at time.Time) []contracts.AttemptError {
	var told []toldFaults
	for _, f := range faults {
		told = tell(told, contracts.Clip(f.String()), len(faults) > maxFaultErrors)
	}
	if len(told) > maxFaultErrors {
		rest := 0
		for _, t := range told[maxFaultErrors-1:] {
			rest += t.faults
		}
		told = append(told[:maxFaultErrors-1], toldFaults{fmt.Sprintf("%d more faults", rest), rest})
	}
	out := make([]contracts.AttemptError, len(told))
	for i, t := range told {
		out[i] = contracts.AttemptError{At: at, Code: string(contracts.ContractViolation), Message: t.message}
	}
	return out
}

// toldFaults is a message that tells of so many faults.
type toldFaults struct {
	message string
	faults  int
}

// tell appends a fault, to the last message if they are crowded and it has room there.
func tell(list []toldFaults, fault string, crowded bool) []toldFaults {
	const between = "; "
	if last := len(list) - 1; crowded && last >= 0 && len(list[last].message)+len(between)+len(fault) <= contracts.MaxErrorBytes {
		list[last].message += between + fault
		list[last].faults++
		return list
	}
	return append(list, toldFaults{fault, 1})
}
