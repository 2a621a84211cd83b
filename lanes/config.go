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

	// Shed is handed tasks of an aggregate, in order, that were offered and are too
	// many behind its head, which begins to wait: they have left the lane, as if Offer
	// had refused them. It is called by a worker, outside locks, before Idle is told
	// of the aggregate. nil: they stay.
	Shed func(tasks []*Task)

	// Idle is told of an aggregate that has no tasks left and had an Offer
	// refused since it last had none. It is called by a worker, outside locks,
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
	if c.Policy.Run < 1 {
		errs = append(errs, fmt.Errorf("run is %d, want 1 or more", c.Policy.Run))
	}
	if c.Handler == nil {
		errs = append(errs, errors.New("handler is missing"))
	}
	return errors.Join(errs...)
}
