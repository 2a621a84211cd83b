package lanes

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"outboxrelay/contracts"
)

// Config says what a pool is and whom it serves.
type Config struct {
	Lane    contracts.Lane
	Policy  contracts.LanePolicy // SLA, Workers and Run are used
	Handler Handler

	// Share is how many workers the tasks that need the same may have at once: the rest
	// is for those that do not need it. 0: all of them.
	Share int

	// Short is asked, outside locks, whether there is little room left for the tasks
	// of others, as the head of an aggregate begins to wait; t is of that aggregate.
	// Shed is handed what leaves the lane then, in order, as if Offer had refused it:
	// the younger half of what queues behind the head, as far as it was offered, but
	// what is behind no more than Offer was told stays. It is called by a worker,
	// outside locks, before Idle is told of the aggregate. nil: all stay.
	Short func(t *Task) bool
	Shed  func(tasks []*Task)

	// Idle is told of an aggregate that has no tasks left and had an Offer
	// refused, or tasks shed, since it last had none. It is called by a worker, outside locks,
	// and may submit. Not called once the pool closes. nil: nobody is told.
	Idle func(aggregate string)

	Log     *zap.Logger // nil: none
	Metrics *Metrics    // shared by the pools of a process; nil: none
}

// Validate names everything that is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	if !c.Lane.Valid() {
		errs = append(errs, fmt.Errorf("unknown lane %q", c.Lane))
	}
	if c.Policy.SLA <= 0 {
		errs = append(errs, fmt.Errorf("SLA is %v, want more than 0", c.Policy.SLA))
	}
	if c.Policy.Workers < 1 {
		errs = append(errs, fmt.Errorf("workers are %d, want 1 or more", c.Policy.Workers))
	}
	if c.Share < 0 {
		errs = append(errs, fmt.Errorf("share is %d, want 0 or more", c.Share))
	}
	if c.Policy.Run < 1 {
		errs = append(errs, fmt.Errorf("run is %d, want 1 or more", c.Policy.Run))
	}
	if c.Handler == nil {
		errs = append(errs, errors.New("handler is missing"))
	}
	if (c.Short == nil) != (c.Shed == nil) {
		errs = append(errs, errors.New("one of Short and Shed is missing"))
	}
	return errors.Join(errs...)
}
