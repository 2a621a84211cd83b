package relay

import "context"

// strays takes the records of lanes that the outbox does not declare of which their
// listener should have told. A page will do, as what it shows is settled.
func (s *sweeper) strays(ctx context.Context) error {
	o := s.outbox
	scan := o.strayScans()[0]
	scan.Limit = sweepPage
	page, err := o.store.Page(ctx, scan)
	if err != nil {
		return err
	}
	var old []Doc
	for _, d := range page {
		if !isCanary(d) && d.ReadTime.Sub(d.UpdateTime) >= o.tuning.SweepAge {
			old = append(old, d)
		}
	}
	s.take(ctx, foundMissed, old)
	return nil
}
