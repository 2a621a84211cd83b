package auth

import (
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"outboxrelay/dlq"
)

// rolesEvery is how often the roles file is looked at, at most: when somebody
// asks.
const rolesEvery = time.Second

// roles knows the roles file. It is read again when it changes, and stays as it
// was where the new one has faults.
type roles struct {
	path string
	now  func() time.Time
	log  *zap.Logger

	mu       sync.Mutex
	byName   map[string]dlq.Role
	read     stamp     // of the file that the roles come from
	lookedAt time.Time // at the file
	trouble  string    // why it could not be read the last time; "" when it could
}

// stamp tells one version of a file from another.
type stamp struct {
	modified time.Time
	size     int64
}

func openRoles(path string, now func() time.Time, log *zap.Logger) (*roles, error) {
	r := &roles{path: path, now: now, log: log, lookedAt: now()}
	seen, err := r.look()
	if err == nil {
		err = r.load(seen)
	}
	if err != nil {
		return nil, fmt.Errorf("open roles file: %w", err)
	}
	return r, nil
}

// of returns the role of an address in lower case; dlq.NoRole when it has none.
func (r *roles) of(email string) dlq.Role {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.lookedAt) >= rolesEvery {
		r.lookedAt = now
		r.refresh()
	}
	return r.byName[email]
}

// refresh reads the file where it has changed. What is wrong with it is logged
// once.
func (r *roles) refresh() {
	seen, err := r.look()
	if err == nil && seen == r.read {
		r.trouble = ""
		return
	}
	if err == nil {
		err = r.load(seen)
	}
	if err == nil {
		r.trouble = ""
		r.log.Info("the roles file was read again", zap.String("file", r.path), zap.Int("identities", len(r.byName)))
		return
	}
	if r.trouble != err.Error() {
		r.trouble = err.Error()
		r.log.Error("the roles file cannot be read: the roles stay as they were", zap.String("file", r.path), zap.Error(err))
	}
}

func (r *roles) look() (stamp, error) {
	info, err := os.Stat(r.path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

// load reads the file that was seen. A change in between has another stamp, so
// that it is read the next time.
func (r *roles) load(seen stamp) error {
	if seen.size > maxRolesBytes {
		return fmt.Errorf("%s has %d bytes, more than %d", r.path, seen.size, maxRolesBytes)
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		return err
	}
	byName, err := parseRoles(data, r.path)
	if err != nil {
		return err
	}
	r.byName, r.read = byName, seen
	return nil
}
