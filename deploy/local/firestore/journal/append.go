package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Append adds a frame and returns a function that waits until it is on the disk.
// Where it fails, nothing is added, and the next frame is tried anew.
func (j *Journal) Append(frame []byte) (wait func() error, err error) {
	b := appendFrame(make([]byte, 0, len(frame)+frameHead), frame)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return nil, j.err
	}
	if err := j.mend(); err != nil {
		return nil, err
	}
	if _, err := j.log.Write(b); err != nil {
		// Part of the frame may be there; whatever followed it would be lost.
		j.torn = true
		return nil, errors.Join(fmt.Errorf("append to log: %w", err), j.mend())
	}
	j.size += int64(len(b))
	j.written += int64(len(b))
	upTo := j.written
	return func() error { return j.wait(upTo) }, nil
}

// mend cuts off what is there of a frame whose append failed.
func (j *Journal) mend() error {
	if !j.torn {
		return nil
	}
	if err := j.log.Truncate(j.size); err != nil {
		return fmt.Errorf("cut torn log: %w", err)
	}
	if _, err := j.log.Seek(j.size, io.SeekStart); err != nil {
		return fmt.Errorf("seek log: %w", err)
	}
	j.torn = false
	return nil
}

// Full reports whether an error is of a disk that has no room, or of a limit on it.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// wait returns when everything up to a position is durable. The first waiter syncs
// for all that has been written by then; the others wait for it, and one of them
// does the next round.
func (j *Journal) wait(upTo int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.durable < upTo && j.err == nil {
		if j.syncing {
			j.synced.Wait()
			continue
		}
		j.syncing = true
		log, written := j.log, j.written
		j.mu.Unlock()
		err := log.Sync()
		j.mu.Lock()
		j.syncing = false
		if err != nil {
			j.err = fmt.Errorf("sync log: %w", err)
		} else {
			j.durable = max(j.durable, written)
		}
		j.synced.Broadcast()
	}
	if j.durable >= upTo {
		return nil
	}
	return j.err
}

// Size is how many bytes the current log has: what a snapshot would save.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Rotate begins a new log and returns its generation, for WriteSnapshot to be
// called with the state as it is now.
func (j *Journal) Rotate() (generation uint64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.syncing {
		j.synced.Wait()
	}
	if j.err != nil {
		return 0, j.err
	}
	if err := j.mend(); err != nil { // the next one makes damage of what is torn
		return 0, err
	}
	old := j.log
	if err := old.Sync(); err != nil {
		j.err = fmt.Errorf("sync log: %w", err)
		j.synced.Broadcast()
		return 0, j.err
	}
	j.durable = j.written
	j.synced.Broadcast()
	j.generation++
	if err := j.create(); err != nil {
		j.generation--
		return 0, err
	}
	return j.generation, old.Close()
}

// create begins the log of the current generation.
func (j *Journal) create() error {
	file := name(j.generation, logSuffix)
	log, err := j.root.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	if err := j.syncDirectory(); err != nil {
		return errors.Join(err, log.Close(), j.root.Remove(file))
	}
	j.log, j.size = log, 0
	return nil
}

// WriteSnapshot stores the state before a generation's first frame, as frames that
// write passes to emit, and lets go of the older files. It may run beside Append.
func (j *Journal) WriteSnapshot(generation uint64, write func(emit func(frame []byte) error) error) error {
	temporary := name(generation, partialSuffix)
	f, err := j.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create snapshot: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var b []byte
	err = write(func(frame []byte) error {
		b = appendFrame(b[:0], frame)
		_, err := w.Write(b)
		return err
	})
	err = errors.Join(err, w.Flush(), f.Sync(), f.Close())
	if err == nil {
		err = j.root.Rename(temporary, name(generation, snapshotSuffix))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write snapshot: %w", err), j.root.Remove(temporary))
	}
	if err := j.syncDirectory(); err != nil {
		return err
	}
	return j.discard()
}

// discard removes what the newest snapshot replaces.
func (j *Journal) discard() error {
	snapshots, logs, err := j.generations()
	if err != nil || len(snapshots) == 0 {
		return err
	}
	newest := snapshots[len(snapshots)-1]
	for _, g := range logs {
		if g < newest {
			err = errors.Join(err, j.root.Remove(name(g, logSuffix)))
		}
	}
	for _, g := range snapshots[:len(snapshots)-1] {
		err = errors.Join(err, j.root.Remove(name(g, snapshotSuffix)))
	}
	return err
}

func (j *Journal) syncDirectory() error {
	d, err := j.root.Open(".")
	if err != nil {
		return fmt.Errorf("sync data directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
