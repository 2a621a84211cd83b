package lanes

// Holds reports whether the aggregate has tasks in the lane.
func (p *Pool) Holds(aggregate string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.aggregates[aggregate]
	return ok
}
