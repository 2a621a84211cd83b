package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

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

// readLines checks a file of JSON lines. Empty lines are passed over. Bad
// records are told on stderr; the error is for a file that cannot be read.
func readLines(in io.Reader, name, outbox string, catalog *contracts.Catalog, stderr io.Writer) (good []appendable, refused int, err error) {
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
func readRecord(line []byte, outbox string, catalog *contracts.Catalog) (appendable, error) {
	fields, err := contracts.Fields(line)
	if err != nil {
		return appendable{}, err
	}
	if named, ok := fields[outboxKey]; ok {
		delete(fields, outboxKey)
		if outbox, ok = named.(string); !ok {
			return appendable{}, errors.New("outbox is not a string")
		}
	}
	if outbox == "" {
		return appendable{}, errors.New("outbox is missing: name it in the line or with --outbox")
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
		return appendable{}, err
	}
	return appendable{outbox, contracts.DocumentID(rec.IdempotencyKey), fields, len(line)}, nil
}

// fill sets a field that is not there.
func fill(fields map[string]any, field string, value any) {
	if _, ok := fields[field]; !ok {
		fields[field] = value
	}
}
