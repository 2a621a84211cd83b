package lanes

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
