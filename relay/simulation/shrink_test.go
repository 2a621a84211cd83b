package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"
)

const (
	// shrinkTries is how often a smaller scenario is run before it counts as one
	// that does not fail: goroutines do not go the same way each time.
	shrinkTries = 4
	// shrinkRuns bounds all of them, as does shrinkTime.
	shrinkRuns = 1500
	shrinkTime = time.Minute
)

// shrinker takes parts of a scenario away for as long as the same judge finds fault
// with it.
type shrinker struct {
	t     *testing.T
	judge string
	plan  scenario
	found result // of plan
	runs  int
	until time.Time
}

// shrink returns the smallest scenario that it finds, and how it went.
func shrink(t *testing.T, plan scenario, found result) (scenario, result) {
	t.Helper()
	s := &shrinker{t: t, judge: found.Faults[0].Judge, plan: plan, found: found, until: time.Now().Add(shrinkTime)}
	for before := -1; before != s.plan.parts() && !s.over(); {
		before = s.plan.parts()
		s.pass()
	}
	return s.plan, s.found
}

// parts counts what a scenario is made of.
func (s scenario) parts() int {
	n := s.Instances + len(s.Faults) + len(s.Ends) + len(s.Acts) + len(s.Appends)
	for _, a := range s.Appends {
		n += len(a.Records)
	}
	for _, is := range []bool{s.LateReads > 0, s.Equal > 0, s.Skew != 0, s.Crowded, s.Kept > 0, s.Size.Delete, s.Size.Shards > 1} {
		if is {
			n++
		}
	}
	return n
}

func (s *shrinker) over() bool { return s.runs > shrinkRuns || time.Now().After(s.until) }

func (s *shrinker) pass() {
	less(s, s.plan.Faults, func(p *scenario, left []fault) { p.Faults = left })
	less(s, s.plan.Ends, func(p *scenario, left []ending) { p.Ends = left })
	less(s, s.plan.Acts, func(p *scenario, left []act) { p.Acts = left })
	for fewer := true; fewer && s.plan.Instances > 1; {
		fewer = s.try(func(p *scenario) { p.fewerInstances() })
	}
	less(s, s.plan.aggregates(), func(p *scenario, left []string) { p.keepAggregates(left) })
	less(s, s.plan.Appends, func(p *scenario, left []appending) { p.Appends = left })
	for i := len(s.plan.Appends) - 1; i >= 0; i-- {
		if i < len(s.plan.Appends) && len(s.plan.Appends[i].Records) > 1 {
			less(s, s.plan.Appends[i].Records, func(p *scenario, left []planned) {
				p.Appends = slices.Clone(p.Appends)
				p.Appends[i].Records = left
			})
		}
	}
	s.try(func(p *scenario) { p.LateReads = 0 })
	s.try(func(p *scenario) { p.Equal = 0 })
	s.try(func(p *scenario) { p.Skew = 0 })
	s.try(func(p *scenario) { p.Crowded = false })
	s.try(func(p *scenario) { p.Kept = 0 })
	s.try(func(p *scenario) { p.Size.Delete = false })
	s.try(func(p *scenario) { p.Size.Shards = 1 })
	for i, a := range s.plan.Appends {
		for k, r := range a.Records {
			if r.Poison.Kind != wholesome || r.Defect != sound {
				s.try(func(p *scenario) { p.changeRecord(i, k, func(r *planned) { r.Poison, r.Defect = poison{}, sound }) })
			}
		}
	}
}

// less tries to do with fewer of a list: without halves of it, then smaller parts.
func less[T any](s *shrinker, list []T, set func(p *scenario, left []T)) {
	for size := (len(list) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(list); {
			left := slices.Concat(list[:from], list[min(from+size, len(list)):])
			if s.try(func(p *scenario) { set(p, left) }) {
				list = left
			} else {
				from += size
			}
		}
	}
}

// try keeps a change if the scenario still fails with it.
func (s *shrinker) try(change func(*scenario)) bool {
	plan := s.plan
	change(&plan)
	if plan.parts() >= s.plan.parts() && !plan.tamer(s.plan) {
		return false
	}
	for range shrinkTries {
		if s.runs++; s.over() {
			return false
		}
		r := inBubble(s.t, plan, nil)
		at := slices.IndexFunc(r.Faults, func(v violation) bool { return v.Judge == s.judge })
		if at < 0 {
			continue
		}
		r.Faults[0], r.Faults[at] = r.Faults[at], r.Faults[0]
		s.plan, s.found = plan, r
		return true
	}
	return false
}

// tamer reports whether fewer records of s are odd than of other.
func (s scenario) tamer(other scenario) bool { return s.odd() < other.odd() }

func (s scenario) odd() (n int) {
	for _, a := range s.Appends {
		for _, r := range a.Records {
			if r.Poison.Kind != wholesome || r.Defect != sound {
				n++
			}
		}
	}
	return n
}

func (s *scenario) changeRecord(commit, record int, change func(*planned)) {
	s.Appends = slices.Clone(s.Appends)
	s.Appends[commit].Records = slices.Clone(s.Appends[commit].Records)
	change(&s.Appends[commit].Records[record])
}

// fewerInstances takes away the last one.
func (s *scenario) fewerInstances() {
	s.Instances--
	s.Faults = slices.DeleteFunc(slices.Clone(s.Faults), func(f fault) bool { return f.Instance == s.Instances })
	s.Ends = slices.DeleteFunc(slices.Clone(s.Ends), func(e ending) bool { return e.Instance == s.Instances })
}

func (s *scenario) aggregates() []string {
	all := make(map[string]bool)
	for _, a := range s.Appends {
		for _, r := range a.Records {
			all[r.Aggregate] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (s *scenario) keepAggregates(left []string) {
	var out []appending
	for _, a := range s.Appends {
		a.Records = slices.DeleteFunc(slices.Clone(a.Records), func(r planned) bool { return !slices.Contains(left, r.Aggregate) })
		if len(a.Records) > 0 {
			out = append(out, a)
		}
	}
	s.Appends = out
}
