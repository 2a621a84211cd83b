package shell

import (
	"encoding/json"
	"io"

	"outboxrelay/cmd/outbox-relay/terminal"
)

// WriteJSON writes a value, indented and fit for a terminal.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(terminal.Escaping(w))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
