package ier

// culprits tells which aggregates fail for themselves, though failing is the rule.
// Where little is sent to a target, three poisoned ones are that: they would have it
// out again each time that it has answered somebody else's, nothing that they count
// would stand, and none of them would ever be dead. An aggregate is a culprit if it
// failed in so many outages, every one of which ended with an answer to another, and if
// nobody who had failed meanwhile was answered: a target that fails whatever it is sent
// answers those, too, once it is back. It is one until somebody who failed is answered,
// or a call fails as in an outage.
type culprits struct {
	failures map[string]*ownFailure // by aggregate, at most mostTurns
}

// ownFailure is of an aggregate that failed for itself and was not answered since.
type ownFailure struct {
	outages int  // that it failed in, and that ended without it
	inThis  bool // it failed since the last of them
}

// culpritAfter is how many such outages tell.
const culpritAfter = 5

// failed notes a call that failed. One that failed as in an outage says that there is
// one: nobody is to blame for what failed until now.
func (c *culprits) failed(s *suspect) {
	if s.outage {
		c.failures = nil
		return
	}
	f := c.failures[s.aggregate]
	switch {
	case f != nil:
		f.inThis = true
	case len(c.failures) < mostTurns:
		if c.failures == nil {
			c.failures = make(map[string]*ownFailure)
		}
		c.failures[s.aggregate] = &ownFailure{inThis: true}
	}
}

// answered notes that the target answered a call of an aggregate. If that had failed,
// others that did may have failed for the target as well.
func (c *culprits) answered(aggregate string) {
	if c.failures[aggregate] != nil {
		c.failures = nil
	}
}

// outageEnded notes that an answer ended an outage.
func (c *culprits) outageEnded() {
	for _, f := range c.failures {
		if f.inThis {
			f.outages, f.inThis = f.outages+1, false
		}
	}
}

// are reports whether an aggregate that failed is one of them.
func (c *culprits) are(aggregate string) bool {
	f := c.failures[aggregate]
	return f != nil && f.outages >= culpritAfter
}
