package lanes

// Holds reports whether the aggregate has tasks in the lane.
func (p *Pool) Holds(aggregate string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.aggregates[aggregate]
	return ok
}

// Active returns how many aggregates run or could: those that wait for a retry
// do not count. It is cheap, unlike Stats.
func (p *Pool) Active() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.aggregates) - len(p.waiting)
}

// Delivered returns how many tasks were Done so far.
func (p *Pool) Delivered() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delivered
}
