package pubsub

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"time"

	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
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

// Active is a fault that is switched on.
type Active struct {
	ID    int
	Fault Fault
	Until time.Time // zero: until it is removed
	Hit   int       // calls hit so far
}

// Faults is the fault switch of a server. Faults may be added and removed at
// any time; of several that match a call, the oldest that hits decides.
type Faults struct {
	now func() time.Time

	mu     sync.Mutex
	nextID int
	active []*activeFault
}

type activeFault struct {
	Active
	rand *rand.Rand
}

func newFaults(now func() time.Time) *Faults { return &Faults{now: now} }

// Add switches f on and returns its ID.
func (fs *Faults) Add(f Fault) (int, error) {
	if err := f.Validate(); err != nil {
		return 0, fmt.Errorf("add fault: %w", err)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.nextID++
	a := &activeFault{
		Active: Active{ID: fs.nextID, Fault: f},
		rand:   rand.New(rand.NewPCG(f.Seed, 0)),
	}
	if f.For > 0 {
		a.Until = fs.now().Add(f.For)
	}
	fs.active = append(fs.active, a)
	return a.ID, nil
}

// Remove switches a fault off and reports whether it was on.
func (fs *Faults) Remove(id int) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.expire()
	before := len(fs.active)
	fs.active = slices.DeleteFunc(fs.active, func(a *activeFault) bool { return a.ID == id })
	return len(fs.active) < before
}

// Clear switches all faults off.
func (fs *Faults) Clear() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.active = nil
}

// List returns the faults that are on, oldest first.
func (fs *Faults) List() []Active {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.expire()
	out := make([]Active, len(fs.active))
	for i, a := range fs.active {
		out[i] = a.Active
	}
	return out
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
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.active) == 0 {
		return Fault{}, false
	}
	fs.expire()
	for _, a := range fs.active {
		f := a.Fault
		if !f.matches(method, publish) {
			continue
		}
		if f.Share > 0 && a.rand.Float64() >= f.Share {
			continue
		}
		a.Hit++
		return f, true
	}
	return Fault{}, false
}

// expire drops the faults whose time or number is used up.
func (fs *Faults) expire() {
	now := fs.now()
	fs.active = slices.DeleteFunc(fs.active, func(a *activeFault) bool {
		return (!a.Until.IsZero() && !now.Before(a.Until)) || (a.Fault.Times > 0 && a.Hit >= a.Fault.Times)
	})
}
