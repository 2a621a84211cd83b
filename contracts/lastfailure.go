package contracts

import (
	"slices"
	"strings"
)

// LastFailure is the last of some failed attempts; ok is false when there is none. A
// record that breaks its contract may do so in several ways at once, each of them an error
// of the same attempt: their messages make one, the same ones told once.
func LastFailure(errs []AttemptError) (last AttemptError, ok bool) {
	return LastFailureBy(errs, func(message string) string { return message })
}

// LastFailureBy is LastFailure with each message passed through render before they make one.
func LastFailureBy(errs []AttemptError, render func(string) string) (last AttemptError, ok bool) {
	n := len(errs)
	if n == 0 {
		return AttemptError{}, false
	}
	last = errs[n-1]
	messages := []string{render(last.Message)}
	for _, e := range slices.Backward(errs[:n-1]) {
		if last.Code != string(ContractViolation) || e.Code != last.Code || e.Attempt != last.Attempt || !e.At.Equal(last.At) {
			break
		}
		if m := render(e.Message); !slices.Contains(messages, m) {
			messages = append(messages, m)
		}
	}
	slices.Reverse(messages)
	last.Message = Clip(strings.Join(messages, "; "))
	return last, true
}
