package relay

import (
	"errors"
	"fmt"
	"time"

	"outboxrelay/relay/feed"
)

// Tuning holds the relay's own intervals and bounds. The zero value of a field
// means its default.
type Tuning struct {
	// CanaryInterval is how often it is looked whether anything is pending in an
	// outbox, one read, and while something is, how often each of its listeners'
	// canaries is touched: one write and one read each time. Of all listeners the
	// one that was proven alive the longest ago is touched as often. Default 20 s.
	CanaryInterval time.Duration
	// SilenceBound is how long a touched canary may stay unseen before its
	// listener is taken for dead and rebuilt. Default 10 s.
	SilenceBound time.Duration
	// RecycleAfter is the age at which a healthy listener is replaced: the SDK's
	// stream keeps a little of every reconnection, and may show documents that
	// left its window after an unlucky one. Default 30 min.
	RecycleAfter time.Duration
	// SweepInterval is how often each outbox is swept for what no listener
	// sees. Default 30 s; it costs three reads while there is nothing to find.
	SweepInterval time.Duration
	// SweepAge is how old a pending record must be before the sweep calls it
	// missed. Default 30 s.
	SweepAge time.Duration
	// ListenBackoff and ListenBackoffMax bound the wait before a listener is
	// rebuilt. Defaults 100 ms and 10 s.
	ListenBackoff, ListenBackoffMax time.Duration
	// PageSize is the number of records in a page while a lane is behind.
	// Default 300: some servers scan the whole collection for each page.
	PageSize int
	// CommitSize bounds the writes of one commit. Default 200: large atomic
	// batches cost latency, small ones cost calls.
	CommitSize int
	// Commits is how many commits of a lane may be under way at once. Default 4.
	Commits int
	// CommitTimeout bounds one commit, and one read. Default 15 s.
	CommitTimeout time.Duration
	// Behind is how many records may queue in memory behind one that waits for
	// its retry; later ones of that aggregate stay in Firestore. Default 64.
	Behind int
	// OutageTolerance is how many outage failures in a row one record may have
	// at a target that answers others, before they count as its own attempts.
	// Default 10.
	OutageTolerance int
	// ReplayRecheck is how long a replay may wait in its lane before its dead
	// letter is read again, as somebody may have withdrawn it. Default 1 s.
	ReplayRecheck time.Duration
	// StopBudget is the time from the end of Run's context to its return.
	// Default 8 s, of Cloud Run's 10.
	StopBudget time.Duration
}

// DefaultTuning returns the defaults.
func DefaultTuning() Tuning {
	return Tuning{
		CanaryInterval: 20 * time.Second, SilenceBound: 10 * time.Second, RecycleAfter: 30 * time.Minute,
		SweepInterval: 30 * time.Second, SweepAge: 30 * time.Second,
		ListenBackoff: 100 * time.Millisecond, ListenBackoffMax: 10 * time.Second,
		PageSize: 300, CommitSize: 200, Commits: 4, CommitTimeout: 15 * time.Second,
		Behind: 64, OutageTolerance: 10, ReplayRecheck: time.Second, StopBudget: 8 * time.Second,
	}
}

// withDefaults fills the zero fields.
func (t Tuning) withDefaults() Tuning {
	d := DefaultTuning()
	for _, f := range []struct{ v, def *time.Duration }{
		{&t.CanaryInterval, &d.CanaryInterval},
		{&t.SilenceBound, &d.SilenceBound},
		{&t.RecycleAfter, &d.RecycleAfter},
		{&t.SweepInterval, &d.SweepInterval},
		{&t.SweepAge, &d.SweepAge},
		{&t.ListenBackoff, &d.ListenBackoff},
		{&t.ListenBackoffMax, &d.ListenBackoffMax},
		{&t.CommitTimeout, &d.CommitTimeout},
		{&t.ReplayRecheck, &d.ReplayRecheck},
		{&t.StopBudget, &d.StopBudget},
	} {
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	for _, f := range []struct{ v, def *int }{
		{&t.PageSize, &d.PageSize},
		{&t.CommitSize, &d.CommitSize},
		{&t.Commits, &d.Commits},
		{&t.Behind, &d.Behind},
		{&t.OutageTolerance, &d.OutageTolerance},
	} {
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	return t
}

// Validate names every field that is out of range.
func (t Tuning) Validate() error {
	var errs []error
	for name, d := range map[string]time.Duration{
		"CanaryInterval": t.CanaryInterval, "SilenceBound": t.SilenceBound, "RecycleAfter": t.RecycleAfter, "SweepInterval": t.SweepInterval,
		"SweepAge": t.SweepAge, "ListenBackoff": t.ListenBackoff, "ListenBackoffMax": t.ListenBackoffMax,
		"CommitTimeout": t.CommitTimeout, "ReplayRecheck": t.ReplayRecheck, "StopBudget": t.StopBudget,
	} {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("%s is %v, want more than 0", name, d))
		}
	}
	if t.SweepAge <= feed.Freshness {
		errs = append(errs, fmt.Errorf("SweepAge is %v, want more than %v: younger records are left to the listeners", t.SweepAge, feed.Freshness))
	}
	if t.CommitSize < 1 || t.CommitSize > 500 {
		errs = append(errs, fmt.Errorf("CommitSize is %d, want 1 to 500", t.CommitSize))
	}
	for name, n := range map[string]int{"PageSize": t.PageSize, "Commits": t.Commits, "Behind": t.Behind, "OutageTolerance": t.OutageTolerance} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("%s is %d, want at least 1", name, n))
		}
	}
	return errors.Join(errs...)
}
