package shell

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"outboxrelay/cmd/outbox-relay/terminal"
)

// Table aligns rows under a head. Every cell is cleaned.
type Table struct{ w *tabwriter.Writer }

// NewTable makes a table; without a head it has none.
func NewTable(w io.Writer, head ...string) *Table {
	t := &Table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.Row(head...)
	return t
}

// Row adds one.
func (t *Table) Row(cells ...string) {
	for i, cell := range cells {
		cells[i] = terminal.Line(cell)
	}
	fmt.Fprintln(t.w, strings.Join(cells, "\t"))
}

// Flush prints the table.
func (t *Table) Flush() error { return t.w.Flush() }
