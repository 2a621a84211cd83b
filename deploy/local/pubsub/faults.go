package pubsub

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/local/switchboard"
)

// Fault is one thing that goes wrong with the calls that it matches.
type Fault struct {
	Method string // "Publish", "Pull", ...; "": Publish
	Topic  string // ID of the topic that is published to; "": any
	// Attributes of a message that all have these values. A request is hit as a
	// whole when it holds one such message; empty: any.
	Attributes map[string]string

	Code         codes.Code    // what the call fails with; OK: it is only delayed
	Delay        time.Duration // before the call
	LoseResponse bool          // the call takes effect, and only its answer is lost

	For   time.Duration // how long it lasts; 0: until it is removed
	Times int           // how many calls it hits; 0: no bound
	Share float64       // share of the matching calls that it hits; 0: all
	Seed  uint64        // of the choice of that share
}

// Validate names what is wrong with f.
func (f Fault) Validate() error {
	var errs []error
	if f.Share < 0 || f.Share > 1 {
		errs = append(errs, fmt.Errorf("share is %v, want 0 to 1", f.Share))
	}
	if f.Delay < 0 || f.For < 0 || f.Times < 0 {
		errs = append(errs, errors.New("delay, for and times must not be negative"))
	}
	if f.Code == codes.OK && f.Delay == 0 {
		errs = append(errs, errors.New("a fault needs a code or a delay"))
	}
	if f.LoseResponse && f.Code == codes.OK {
		errs = append(errs, errors.New("a lost answer needs a code"))
	}
	if (f.Topic != "" || len(f.Attributes) > 0) && f.method() != "Publish" {
		errs = append(errs, errors.New("only a publish is matched by its topic and attributes"))
	}
	return errors.Join(errs...)
}

func (f Fault) method() string {
	if f.Method == "" {
		return "Publish"
	}
	return f.Method
}

// Faults is the fault switch of a server. A fault goes when its time or its number
// is used up.
type Faults struct {
	now func() time.Time
	switchboard.Board[lasting]
}

// lasting is a fault and its end.
type lasting struct {
	Fault
	until time.Time // zero: until it is removed
}

func newFaults(now func() time.Time) *Faults {
	fs := &Faults{now: now}
	fs.Over = func(a *switchboard.Active[lasting]) bool {
		return a.UsedUp() || !a.Fault.until.IsZero() && !now().Before(a.Fault.until)
	}
	return fs
}

// Add switches f on and returns its ID.
func (fs *Faults) Add(f Fault) (int, error) {
	if err := f.Validate(); err != nil {
		return 0, fmt.Errorf("add fault: %w", err)
	}
	l := lasting{Fault: f}
	if f.For > 0 {
		l.until = fs.now().Add(f.For)
	}
	return fs.Board.Add(l, switchboard.NewTally(0, f.Times, f.Share, f.Seed)), nil
}

// matches reports whether the call is one that f is about. publish is nil
// unless it publishes.
func (f Fault) matches(method string, publish *pb.PublishRequest) bool {
	switch {
	case f.method() != method:
		return false
	case f.Topic != "" && f.Topic != path.Base(publish.GetTopic()):
		return false
	}
	return len(f.Attributes) == 0 || slices.ContainsFunc(publish.GetMessages(), f.strikes)
}

func (f Fault) strikes(m *pb.PubsubMessage) bool {
	for name, value := range f.Attributes {
		if m.Attributes[name] != value {
			return false
		}
	}
	return true
}

// hit returns the fault that the call is to suffer. publish is nil unless it
// publishes.
func (fs *Faults) hit(method string, publish *pb.PublishRequest) (Fault, bool) {
	l, ok := fs.Strike(func(l lasting) bool { return l.matches(method, publish) })
	return l.Fault, ok
}
