package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// PrintJSON writes JSON as it came, indented, and fit for a terminal.
func PrintJSON(w io.Writer, text json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(text), "", "  "); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	_, err := fmt.Fprintln(terminal.Escaping(w), b.String())
	return err
}
