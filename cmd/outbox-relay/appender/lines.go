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
	"strings"
	"time"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/cmd/outbox-relay/terminal"
	"outboxrelay/contracts"
	producer "outboxrelay/contracts/outbox"
)

// Record is a record that is ready to be written.
type Record struct {
	Outbox, ID string // ID is the document's
	Fields     map[string]any
	line       int // of its file; 0: it is a sample, which its key alone tells from others
	size       int // about that of its document, in bytes; 0: small
}

// differs returns the fields in which it is not the same event as what stands under
// its key.
func (r Record) differs(stored map[string]any) []string {
	rec, _ := contracts.DecodeRecord(r.Outbox, r.ID, r.Fields)
	return producer.Differs(stored, rec)
}

// place is where it is to stand.
func (r Record) place() string { return r.Outbox + "/" + r.ID }

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
	lines, first := bufio.NewReader(in), map[string]int{} // of a place, in good
	for n := 1; ; n++ {
		line, tooLong, more, err := readLine(lines)
		if err != nil {
			return nil, 0, shell.Usagef("read %s: %w", name, err)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		switch line = bytes.TrimSpace(line); {
		case tooLong:
			refused++
			refuse(stderr, name, n, fmt.Errorf("the line is over %d bytes", maxLine))
		case len(line) > 0:
			record, err := readRecord(line, outbox, catalog)
			if i, again := first[record.place()]; err == nil && again {
				err = collision(record, fmt.Sprintf("line %d", good[i].line), record.differs(good[i].Fields))
			}
			if err != nil {
				refused++
				refuse(stderr, name, n, err)
				break
			}
			record.line = n
			if _, again := first[record.place()]; !again {
				first[record.place()] = len(good)
			}
			good = append(good, record)
		}
		if !more {
			return good, refused, nil
		}
	}
}

// byteOrderMark stands at the start of a file that some editors wrote.
const byteOrderMark = "\ufeff"

// readLine reads a line to its end, of which it keeps maxLine bytes at most, and reports
// whether more may follow.
func readLine(in *bufio.Reader) (line []byte, tooLong, more bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxLine; !tooLong {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return line, tooLong, true, nil
		case errors.Is(err, io.EOF):
			return line, tooLong, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, false, err
		}
	}
}

// readRecord decodes and checks one line. The error names every fault.
func readRecord(line []byte, outbox string, catalog *contracts.Catalog) (Record, error) {
	fields, err := contracts.Fields(line)
	if err != nil {
		return Record{}, err
	}
	if err := contracts.StrictJSON(line); err != nil {
		return Record{}, fmt.Errorf("decode record: %w", err)
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
	id := contracts.DocumentID(rec.IdempotencyKey)
	refusals, _ := producer.FirestoreFaults(outbox, id, fields)
	if err := slices.Concat(faults, refusals).Err(); err != nil {
		return Record{}, err
	}
	return Record{Outbox: outbox, ID: id, Fields: fields, size: len(line)}, nil
}

// fill sets a field that is not there.
func fill(fields map[string]any, field string, value any) {
	if _, ok := fields[field]; !ok {
		fields[field] = value
	}
}

// collision is the error of a record whose key has another one at a place; nil where
// nothing differs.
func collision(r Record, place string, differs []string) error {
	if len(differs) == 0 {
		return nil
	}
	return fmt.Errorf("idempotencyKey %v is that of another record already, of %s: %s differs", r.Fields[contracts.FieldIdempotencyKey], place, strings.Join(differs, ", "))
}

// refuse tells one bad record.
func refuse(w io.Writer, name string, line int, why error) {
	fmt.Fprintf(w, "%s:%d: %s\n", terminal.Line(name), line, terminal.Lines(why.Error()))
}
