// Package journal keeps a sequence of frames on disk: an append-only log of
// checksummed frames, and snapshots that replace what came before them.
//
// A frame is in the operating system's hands when Append returns, so that it
// survives the end of the process; it is on the disk when the function that Append
// returned does. Appenders that wait at the same time share one sync.
//
// A directory holds LOCK, an instance ID, and files numbered by generation:
// N.snapshot is the state before the first frame of N.log. Opening reads the
// newest snapshot and the logs from its number on. The last log may end in the
// midst of a frame, which is cut off; damage anywhere else is an error.
package journal

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

const (
	logSuffix      = ".log"
	snapshotSuffix = ".snapshot"
	partialSuffix  = ".partial"
	instanceFile   = "instance"
)

// Journal is an open directory. Append and Rotate are for one caller at a time.
type Journal struct {
	root     *os.Root
	lock     io.Closer
	instance [8]byte

	mu         sync.Mutex
	synced     *sync.Cond // broadcast when durable or err changes
	log        *os.File
	generation uint64
	written    int64 // bytes appended since the journal was opened
	durable    int64 // of them, synced
	syncing    bool
	size       int64 // bytes of the current log
	torn       bool  // behind these may be part of a frame
	err        error // sticky: after a sync that failed nothing is known of the disk
}

// Torn tells what Open cut off the end of the last log.
type Torn struct {
	File  string
	Bytes int64
}

// Open locks a directory, making it if need be, and calls replay with each frame
// in order. What it makes is for the user alone that it runs as. It fails if another process has the directory open.
func Open(dir string, replay func(frame []byte) error) (*Journal, *Torn, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open data directory: %w", err), lock.Close())
	}
	j := &Journal{root: root, lock: lock}
	j.synced = sync.NewCond(&j.mu)
	torn, err := j.load(replay)
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	return j, torn, nil
}

// Instance identifies the directory's content across openings.
func (j *Journal) Instance() [8]byte { return j.instance }

func (j *Journal) load(replay func([]byte) error) (*Torn, error) {
	if err := j.loadInstance(); err != nil {
		return nil, err
	}
	snapshots, logs, err := j.generations()
	if err != nil {
		return nil, err
	}
	if len(snapshots) > 0 {
		j.generation = snapshots[len(snapshots)-1]
		if _, _, err := j.read(name(j.generation, snapshotSuffix), false, replay); err != nil {
			return nil, err
		}
	}
	logs = slices.DeleteFunc(logs, func(g uint64) bool { return g < j.generation })
	var torn *Torn
	for i, g := range logs {
		last := i == len(logs)-1
		var cut *Torn
		if j.size, cut, err = j.read(name(g, logSuffix), last, replay); err != nil {
			return nil, err
		}
		torn, j.generation = cut, g
	}
	if len(logs) == 0 {
		return nil, j.create()
	}
	if j.log, err = j.root.OpenFile(name(j.generation, logSuffix), os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	j.torn = true
	if err := j.mend(); err != nil {
		return nil, err
	}
	return torn, j.discard()
}

func (j *Journal) loadInstance() error {
	b, err := j.root.ReadFile(instanceFile)
	if err == nil && len(b) == len(j.instance) {
		copy(j.instance[:], b)
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read instance: %w", err)
	}
	_, _ = rand.Read(j.instance[:]) // never fails
	if err := j.root.WriteFile(instanceFile, j.instance[:], 0o600); err != nil {
		return fmt.Errorf("write instance: %w", err)
	}
	return nil
}

// read replays a file and returns the length of its sound part.
func (j *Journal) read(file string, mayTear bool, replay func([]byte) error) (int64, *Torn, error) {
	f, err := j.root.Open(file)
	if err != nil {
		return 0, nil, fmt.Errorf("open %s: %w", file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, nil, fmt.Errorf("stat %s: %w", file, err)
	}
	r := bufio.NewReaderSize(f, 1<<20)
	var at int64
	for {
		frame, err := readFrame(r, info.Size()-at)
		if errors.Is(err, io.EOF) {
			return at, nil, nil
		}
		if errors.Is(err, errTorn) && mayTear {
			return at, &Torn{file, info.Size() - at}, nil
		}
		if err != nil {
			return 0, nil, fmt.Errorf("read %s at byte %d: %w", file, at, err)
		}
		if err := replay(frame); err != nil {
			return 0, nil, fmt.Errorf("replay %s at byte %d: %w", file, at, err)
		}
		at += int64(len(frame)) + frameHead
	}
}

// generations lists the numbers of the snapshots and logs, in order.
func (j *Journal) generations() (snapshots, logs []uint64, err error) {
	d, err := j.root.Open(".")
	if err != nil {
		return nil, nil, fmt.Errorf("list data directory: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, nil, fmt.Errorf("list data directory: %w", err)
	}
	for _, n := range names {
		var g uint64
		if _, err := fmt.Sscanf(n, "%016d", &g); err != nil {
			continue
		}
		switch {
		case strings.HasSuffix(n, partialSuffix): // of a snapshot that was never finished
			if err := j.root.Remove(n); err != nil {
				return nil, nil, fmt.Errorf("remove unfinished snapshot: %w", err)
			}
		case strings.HasSuffix(n, logSuffix):
			logs = append(logs, g)
		case strings.HasSuffix(n, snapshotSuffix):
			snapshots = append(snapshots, g)
		}
	}
	slices.Sort(snapshots)
	slices.Sort(logs)
	return snapshots, logs, nil
}

func name(generation uint64, suffix string) string { return fmt.Sprintf("%016d%s", generation, suffix) }

// Close syncs and unlocks.
func (j *Journal) Close() error {
	var err error
	if j.log != nil {
		err = errors.Join(j.log.Sync(), j.log.Close())
	}
	return errors.Join(err, j.root.Close(), j.lock.Close())
}
