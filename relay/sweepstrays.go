package relay

import "context"

// strays counts the records of lanes that the outbox does not declare, with their
// canary, and takes those of which their listener should have told. A page of them
// costs no more than their count while there are none, and one will do, as what it
// shows is settled.
func (s *sweeper) strays(ctx context.Context) (int64, error) {
	o := s.outbox
	scan := o.strayScans()[0]
	scan.Limit = sweepPage
	page, err := o.store.Page(ctx, scan)
	if err != nil {
		return 0, err
	}
	var old []Doc
	for _, d := range page {
		if !isCanary(d) && d.ReadTime.Sub(d.UpdateTime) >= o.tuning.SweepAge {
			old = append(old, d)
		}
	}
	s.take(foundMissed, old)
	if len(page) < scan.Limit {
		return int64(len(page)), nil
	}
	return o.store.Count(ctx, scan)
}
