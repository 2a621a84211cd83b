// Package appender puts records into outboxes: it checks lines of JSON against the
// catalog, and writes what is sound in transactions, each record once.
package appender

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
)

// Record is a record that is ready to be written.
type Record struct {
	Outbox, ID string // ID is the document's
	Fields     map[string]any
	size       int // about that of its document, in bytes; 0: small
}

// maxLine bounds a JSON line: a Firestore document holds 1 MiB, and JSON takes
// more room than that for the same values.
const maxLine = 8 << 20

// outboxKey names a line's outbox, beside the record's fields.
const outboxKey = "outbox"

// relayFields are the relay's own. A producer never writes them.
var relayFields = []string{
	contracts.FieldAttempts, contracts.FieldLastError, contracts.FieldNextAttemptAt, contracts.FieldDeliveredTargets,
	contracts.FieldDeliveredAt, contracts.FieldExpireAt, contracts.FieldAttemptErrors,
}

// ReadLines checks a file of JSON lines, whose name is for what is told of it.
// outbox is that of lines that name none. Empty lines are passed over. Bad
// records are told on stderr; the error is for a file that cannot be read.
func ReadLines(in io.Reader, name, outbox string, catalog *contracts.Catalog, stderr io.Writer) (good []Record, refused int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		record, err := readRecord(line, outbox, catalog)
		if err != nil {
			refused++
			refuse(stderr, name, n, err)
			continue
		}
		good = append(good, record)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, 0, shell.Usagef("%s:%d: the line is over %d bytes", name, n+1, maxLine)
	case err != nil:
		return nil, 0, fmt.Errorf("read %s: %w", name, err)
	}
	return good, refused, nil
}

// readRecord decodes and checks one line. The error names every fault.
func readRecord(line []byte, outbox string, catalog *contracts.Catalog) (Record, error) {
	fields, err := contracts.Fields(line)
	if err != nil {
		return Record{}, err
	}
	if named, ok := fields[outboxKey]; ok {
		delete(fields, outboxKey)
		if outbox, ok = named.(string); !ok {
			return Record{}, errors.New("outbox is not a string")
		}
	}
	if outbox == "" {
		return Record{}, errors.New("outbox is missing: name it in the line or with --outbox")
	}

	var faults contracts.Faults
	fill(fields, contracts.FieldCreatedAt, time.Now().UTC())
	fill(fields, contracts.FieldStatus, string(contracts.Pending))
	if status, ok := fields[contracts.FieldStatus].(string); ok && status != string(contracts.Pending) {
		faults = append(faults, contracts.Fault{Field: contracts.FieldStatus, Problem: "is not pending, as every record starts"})
	}
	for _, field := range relayFields {
		if _, ok := fields[field]; ok {
			faults = append(faults, contracts.Fault{Field: field, Problem: "is the relay's to write"})
		}
	}
	rec, decoded := contracts.DecodeRecord(outbox, "", fields)
	faults = slices.Concat(faults, catalog.Check(rec, decoded).Faults)
	if err := faults.Err(); err != nil {
		return Record{}, err
	}
	return Record{outbox, contracts.DocumentID(rec.IdempotencyKey), fields, len(line)}, nil
}

// fill sets a field that is not there.
func fill(fields map[string]any, field string, value any) {
	if _, ok := fields[field]; !ok {
		fields[field] = value
	}
}

// refuse tells one bad record.
func refuse(w io.Writer, name string, line int, why error) {
	fmt.Fprintf(w, "%s:%d: %s\n", terminal.Line(name), line, terminal.Lines(why.Error()))
}
