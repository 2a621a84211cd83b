package dlq

import (
	"slices"
	"strings"

	"outboxrelay/contracts"
)

// lastFaults is the code and the message of the item's last failed attempt. A record that
// breaks its contract may do so in several ways at once, which make one message; each
// passes through render before, and the same ones are told once.
func (i *Item) lastFaults(render func(string) string) (code, message string) {
	n := len(i.Errors)
	if n == 0 {
		return "", ""
	}
	last := i.Errors[n-1]
	messages := []string{render(last.Message)}
	for _, e := range slices.Backward(i.Errors[:n-1]) {
		if last.Code != string(contracts.ContractViolation) || e.Code != last.Code || e.Attempt != last.Attempt || !e.At.Equal(last.At) {
			break
		}
		if m := render(e.Message); !slices.Contains(messages, m) {
			messages = append(messages, m)
		}
	}
	slices.Reverse(messages)
	return last.Code, contracts.Clip(strings.Join(messages, "; "))
}
