package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// arrival is one message at a consumer.
type arrival struct {
	Consumer  string
	Topic     string
	MessageID string
	EventID   string
}

// effect is what a consumer did for an event.
type effect struct {
	Consumer  string `firestore:"consumer"`
	EventID   string `firestore:"eventId"`
	Aggregate string `firestore:"aggregate"`
	Version   int64  `firestore:"version"`
	At        int64  `firestore:"at"` // Unix nanoseconds of the machine, which all processes share
}

// beginning is that a handler was called, and so that the event's claim stands in the store.
type beginning struct {
	Consumer  string
	EventID   string
	Aggregate string
	Version   int64
	Arrived   int64 // when its message came, before it was claimed; as effect.At
	At        int64 // as effect.At
}

// journal is a file of what happened in one process. Each entry is one write, so that it is there
// whole or not at all when the process is killed.
type journal struct{ file *os.File }

// entry is one line; one of its fields is set.
type entry struct {
	Arrived  *arrival   `json:",omitempty"`
	Began    *beginning `json:",omitempty"`
	Happened *effect    `json:",omitempty"`
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &journal{file}, nil
}

func (j *journal) arrived(a arrival) error { return j.write(entry{Arrived: &a}) }

func (j *journal) began(b beginning) error { return j.write(entry{Began: &b}) }

func (j *journal) happened(e effect) error { return j.write(entry{Happened: &e}) }

func (j *journal) write(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

func (j *journal) close() error { return j.file.Close() }

// notes are what stands in journals.
type notes struct {
	arrivals   []arrival
	beginnings []beginning
	effects    []effect
}

// readJournals reads what happened in all processes.
func readJournals(paths []string) (n notes, err error) {
	for _, path := range paths {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // it was killed before it began
		}
		if err != nil {
			return n, err
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var e entry
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				break // the line that is being written
			}
			switch {
			case e.Arrived != nil:
				n.arrivals = append(n.arrivals, *e.Arrived)
			case e.Began != nil:
				n.beginnings = append(n.beginnings, *e.Began)
			case e.Happened != nil:
				n.effects = append(n.effects, *e.Happened)
			}
		}
		_ = file.Close() // which was only read
	}
	return n, nil
}
