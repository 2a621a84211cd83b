package lanes

import "time"

// Stats is a pool at one moment. Queued, Running and Waiting add up to the
// tasks in the lane.
type Stats struct {
	Queued  int       // tasks that wait for a worker, or for older ones that do
	Running int       // tasks of the runs that workers have now
	Waiting int       // tasks held back by a retry, their own or an older one's
	Oldest  time.Time // when the oldest of them was appended; zero: the lane is empty
	Overdue int       // tasks past their SLA now
	Paused  bool

	Delivered int64 // tasks that were Done so far
	Breaches  int64 // of these, past their SLA
	Faults    int64 // runs whose handler was at fault so far
}

// Stats walks all tasks of the lane: it is meant for a scrape or a page, not
// for each record.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Paused: p.paused, Delivered: p.delivered, Breaches: p.breaches, Faults: p.faults}
	// A task is overdue when it was appended before this.
	due := time.Now().Add(-p.cfg.Policy.SLA)
	for _, a := range p.aggregates {
		s.Running += len(a.run)
		if a.place == isWaiting {
			s.Waiting += len(a.queue)
		} else {
			s.Queued += len(a.queue)
		}
		s.judge(a.run, due)
		s.judge(a.queue, due)
	}
	return s
}

// Active returns how many aggregates run or could: those that wait for a retry
// do not count. It is cheap, unlike Stats.
func (p *Pool) Active() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.aggregates) - len(p.waiting)
}

// judge adds tasks to Oldest and Overdue.
func (s *Stats) judge(tasks []*Task, due time.Time) {
	for _, t := range tasks {
		if s.Oldest.IsZero() || t.Appended.Before(s.Oldest) {
			s.Oldest = t.Appended
		}
		if t.Appended.Before(due) {
			s.Overdue++
		}
	}
}
